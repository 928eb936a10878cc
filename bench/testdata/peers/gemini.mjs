// Prints the memory of a directory as Gemini CLI puts it together when it starts there:
// what its context manager does, without the configuration of a session, which would
// ask for a login.
//
//	node gemini.mjs MODULE DIRECTORY
import { pathToFileURL } from "node:url";

const [module, directory] = process.argv.slice(2);
const loader = await import(pathToFileURL(module).href);
for (const name of ["getEnvironmentMemoryPaths", "readGeminiMdFiles", "concatenateInstructions"]) {
	if (typeof loader[name] !== "function") {
		throw new Error(`${module} has no ${name}`);
	}
}
// Its log would go to standard output.
console.debug = () => {};
const paths = await loader.getEnvironmentMemoryPaths([directory]);
process.stdout.write(loader.concatenateInstructions(await loader.readGeminiMdFiles(paths)));
