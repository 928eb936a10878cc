package rpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/model-workspace-protocol/mwp/mcp/rpc"
)

const (
	pingName   = "ping"
	cancelName = "notifications/cancelled"
)

// noHurry is for tests that end with their input and have the real clock.
const noHurry = time.Hour

// transcript keeps every Write as one message and notes what is not one.
type transcript struct {
	mu    sync.Mutex
	lines []string
	wrong []string
}

func (o *transcript) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	line, whole := strings.CutSuffix(string(b), "\n")
	if !whole || strings.ContainsAny(line, "\r\n") || !json.Valid([]byte(line)) {
		o.wrong = append(o.wrong, string(b))
	}
	o.lines = append(o.lines, line)
	return len(b), nil
}

// answers serves the input to its end and returns what was written, a line each.
func answers(t testing.TB, in string, h rpc.Handler, o rpc.Options) []string {
	t.Helper()
	o.Grace = noHurry
	var out transcript
	if err := rpc.Serve(context.Background(), strings.NewReader(in), &out, h, o); err != nil {
		t.Fatalf("Serve = %v", err)
	}
	for _, w := range out.wrong {
		t.Errorf("one Write is not one message: %q", w)
	}
	return out.lines
}

// echo answers with what it was asked.
func echo(_ context.Context, c *rpc.Call) (rpc.Reply, error) {
	switch c.Method {
	case "echo":
		params := c.Params
		if params == nil {
			params = json.RawMessage(`"none"`)
		}
		return rpc.Reply{Result: params}, nil
	case "fails":
		return rpc.Reply{Result: json.RawMessage(`1`)}, errors.New("the disk is <full>\nand \xff")
	case "refuses":
		return rpc.Reply{}, fmt.Errorf("wrapped: %w", &rpc.Error{Code: rpc.InvalidParams, Message: "no such argument", Data: json.RawMessage("{\"allowed\":\n[\"a\"]}")})
	case "refuses with rubbish":
		return rpc.Reply{}, &rpc.Error{Code: rpc.InvalidParams, Message: "no", Data: json.RawMessage("{")}
	case "refuses with nil":
		return rpc.Reply{}, (*rpc.Error)(nil)
	case "panics":
		panic("on purpose")
	case "two lines":
		return rpc.Reply{Result: json.RawMessage("{\n}")}, nil
	case "no result":
		return rpc.Reply{}, nil
	case "notifies":
		c.Notify("progress", json.RawMessage("{\"at\":\n1}"))
		c.Notify("bare", nil)
		return rpc.Reply{Result: json.RawMessage(`"done"`)}, nil
	}
	return rpc.Reply{}, &rpc.Error{Code: rpc.MethodNotFound, Message: "no " + c.Method}
}

func refused(id string, code int, message string) string {
	text, _ := json.Marshal(message)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, text)
}

func result(id, value string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, value)
}

const (
	notJSON    = "expected one JSON message on the line, found something else"
	notID      = "expected a string or an integer as id, found "
	notVersion = `expected "2.0" as jsonrpc, found `
	notBatch   = "expected one message on the line, found an array of messages, which this revision does not have"
	inFlight   = "expected an id of its own, found the id of a call that is not answered yet"
)

// goesOn is sent behind every input of the table, and its answer expected last.
const goesOn = `{"jsonrpc":"2.0","id":"on","method":"echo"}`

var lines = []struct {
	name string
	in   string
	out  []string
}{
	{"a call", `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":[1,{"b":"}"}]}}`, []string{result("1", `{"a":[1,{"b":"}"}]}`)}},
	{"white space everywhere", " \t{ \"jsonrpc\" :\t\"2.0\" , \"id\" : 1 ,\"method\": \"echo\" , \"params\" : [ 1 , 2 ] } \r", []string{result("1", `[1,2]`)}},
	{"members in another order, unknown ones", `{"params":[],"x":"\"","method":"echo","x":{"id":9},"id":1,"jsonrpc":"2.0"}`, []string{result("1", `[]`)}},
	{"escaped names and values", `{"\u006asonrpc":"\u0032.0","i\u0064":"\u0061","method":"ec\u0068o"}`, []string{result(`"a"`, `"none"`)}},
	{"no params and null are the same", `{"jsonrpc":"2.0","id":1,"method":"echo","params":null}`, []string{result("1", `"none"`)}},
	{"an id above 2^53", `{"jsonrpc":"2.0","id":9007199254740993123456789,"method":"echo"}`, []string{result("9007199254740993123456789", `"none"`)}},
	{"an empty id, a negative one", `{"jsonrpc":"2.0","id":"","method":"echo"}` + "\n" + `{"jsonrpc":"2.0","id":-0,"method":"echo"}`, []string{result(`""`, `"none"`), result(`-0`, `"none"`)}},

	{"blank lines", "\n\r\n \t \n\ufeff\n", nil},
	{"CRLF", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}\r\n", []string{result("1", `"none"`)}},
	{"byte order mark", "\ufeff{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}", []string{result("1", `"none"`)}},

	{"malformed", `{"jsonrpc":"2.0","id":1,"method":`, []string{refused("null", -32700, notJSON)}},
	{"words", `hello`, []string{refused("null", -32700, notJSON)}},
	{"two on one line", `{"jsonrpc":"2.0","id":1,"method":"echo"}{"jsonrpc":"2.0","id":2,"method":"echo"}`, []string{refused("null", -32700, notJSON)}},
	{"a raw control character", "{\"jsonrpc\":\"2.0\",\"id\":\"\x00\",\"method\":\"echo\"}", []string{refused("null", -32700, notJSON)}},
	{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"echo\"}", []string{refused("null", -32700, "expected UTF-8, found other bytes")}},
	{"not UTF-8 in an unknown member", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"x\":\"\xc0\x80\"}", []string{refused("null", -32700, "expected UTF-8, found other bytes")}},
	{"a brace in a string closes nothing", `{"jsonrpc":"2.0","id":1,"method":"echo","params":["\"]}\\"]}`, []string{result("1", `["\"]}\\"]`)}},

	{"a number", `42`, []string{refused("null", -32600, "expected an object as the message, found a number")}},
	{"a string", `"{}"`, []string{refused("null", -32600, "expected an object as the message, found a string")}},
	{"null", `null`, []string{refused("null", -32600, "expected an object as the message, found null")}},
	{"an empty object", `{}`, []string{refused("null", -32600, notVersion+"nothing")}},
	{"version 1.0", `{"jsonrpc":"1.0","id":1,"method":"echo"}`, []string{refused("1", -32600, notVersion+"another string")}},
	{"version as a number", `{"jsonrpc":2.0,"id":1,"method":"echo"}`, []string{refused("1", -32600, notVersion+"a number")}},
	{"version absent in a notification", `{"method":"echo"}`, []string{refused("null", -32600, notVersion+"nothing")}},
	{"method 7", `{"jsonrpc":"2.0","id":1,"method":7}`, []string{refused("1", -32600, "expected a string as method, found a number")}},
	{"method null", `{"jsonrpc":"2.0","id":1,"method":null}`, []string{refused("1", -32600, "expected a string as method, found null")}},
	{"no method, no result", `{"jsonrpc":"2.0","id":1}`, []string{refused("1", -32600, "expected a string as method, found nothing")}},
	{"id an object", `{"jsonrpc":"2.0","id":{},"method":"echo"}`, []string{refused("null", -32600, notID+"an object")}},
	{"id 1.5", `{"jsonrpc":"2.0","id":1.5,"method":"echo"}`, []string{refused("null", -32600, notID+"a number")}},
	{"id 1.0", `{"jsonrpc":"2.0","id":1.0,"method":"echo"}`, []string{refused("null", -32600, notID+"a number")}},
	{"id 1e2", `{"jsonrpc":"2.0","id":1e2,"method":"echo"}`, []string{refused("null", -32600, notID+"a number")}},
	{"id null", `{"jsonrpc":"2.0","id":null,"method":"echo"}`, []string{refused("null", -32600, notID+"null")}},
	{"id true", `{"jsonrpc":"2.0","id":true,"method":"echo"}`, []string{refused("null", -32600, notID+"true")}},
	{"params a string", `{"jsonrpc":"2.0","id":1,"method":"echo","params":"a"}`, []string{refused("1", -32600, "expected an object or an array as params, found a string")}},
	{"params a number in a notification", `{"jsonrpc":"2.0","method":"echo","params":7}`, []string{refused("null", -32600, "expected an object or an array as params, found a number")}},
	{"capital letters", `{"jsonrpc":"2.0","ID":1,"Method":"echo"}`, []string{refused("null", -32600, "expected a string as method, found nothing")}},
	{"capital letters beside the right ones", `{"jsonrpc":"2.0","id":1,"ID":2,"method":"echo","METHOD":"panics","Params":[1]}`, []string{result("1", `"none"`)}},
	{"id twice", `{"jsonrpc":"2.0","id":1,"method":"echo","id":2}`, []string{refused("null", -32600, notID+"two of them")}},
	{"id twice, once escaped", `{"jsonrpc":"2.0","id":1,"method":"echo","\u0069d":1}`, []string{refused("null", -32600, notID+"two of them")}},
	{"method twice", `{"jsonrpc":"2.0","id":1,"method":"echo","method":"panics"}`, []string{refused("1", -32600, "expected each member of a message once, found method twice")}},
	{"params twice", `{"jsonrpc":"2.0","id":1,"method":"echo","params":null,"params":{}}`, []string{refused("1", -32600, "expected each member of a message once, found params twice")}},
	{"version twice", `{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"echo"}`, []string{refused("1", -32600, "expected each member of a message once, found jsonrpc twice")}},

	{"responses", `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":""}}` + "\n" + `{"id":null,"error":null,"id":3}`, nil},
	{"a call with a result", `{"jsonrpc":"2.0","id":1,"method":"echo","result":1}`, []string{result("1", `"none"`)}},
	{"notifications", `{"jsonrpc":"2.0","method":"echo"}` + "\n" + `{"jsonrpc":"2.0","method":"nothing like it"}` + "\n" + `{"jsonrpc":"2.0","method":"panics"}` + "\n" + `{"jsonrpc":"2.0","method":"ping"}`, nil},
	{"an unknown method", `{"jsonrpc":"2.0","id":1,"method":""}`, []string{refused("1", -32601, "no ")}},
	{"ping", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{}}}`, []string{result("1", "{}")}},
	{"ping as an array, which is off", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, []string{refused("null", -32600, notBatch)}},
	{"an empty array", `[]`, []string{refused("null", -32600, "expected a message, found an empty array")}},
	{"an array of responses, which is off", `[{"id":1,"result":1}]`, []string{refused("null", -32600, notBatch)}},
	{"cancels that name nothing", strings.Join([]string{
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"unknown"}}`,
	}, "\n"), nil},
	{"a cancel with an id is a call", `{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled","params":{"requestId":1}}`, []string{refused("1", -32601, "no notifications/cancelled")}},

	{"a handler's error", `{"jsonrpc":"2.0","id":1,"method":"fails"}`, []string{refused("1", -32603, "the disk is <full>\nand \ufffd")}},
	{"a handler's code", `{"jsonrpc":"2.0","id":1,"method":"refuses"}`, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such argument","data":{"allowed":["a"]}}}`}},
	{"a handler's data that is not JSON", `{"jsonrpc":"2.0","id":1,"method":"refuses with rubbish"}`, []string{refused("1", -32602, "no")}},
	{"a nil error of our type", `{"jsonrpc":"2.0","id":1,"method":"refuses with nil"}`, []string{refused("1", -32603, "the server failed on this call and goes on; the reason is in its log")}},
	{"a handler's panic", `{"jsonrpc":"2.0","id":1,"method":"panics"}`, []string{refused("1", -32603, "the server failed on this call and goes on; the reason is in its log")}},
	{"a result of two lines", `{"jsonrpc":"2.0","id":1,"method":"two lines"}`, []string{refused("1", -32603, "the server failed on this call: its result is not JSON on one line")}},
	{"no result", `{"jsonrpc":"2.0","id":1,"method":"no result"}`, []string{refused("1", -32603, "the server failed on this call: its result is not JSON on one line")}},
	{"notifications of a call", `{"jsonrpc":"2.0","id":1,"method":"notifies"}`, []string{
		`{"jsonrpc":"2.0","method":"progress","params":{"at":1}}`, `{"jsonrpc":"2.0","method":"bare"}`, result("1", `"done"`),
	}},
	{"refusals wait for their turn", `{"jsonrpc":"2.0","id":1,"method":"echo"}` + "\nx\n" + `{"jsonrpc":"2.0","id":2,"method":"echo"}` + "\n7", []string{
		result("1", `"none"`), refused("null", -32700, notJSON), result("2", `"none"`), refused("null", -32600, "expected an object as the message, found a number"),
	}},
	{"nested too deep", strings.Repeat("[", 5000), []string{refused("null", -32600, "expected at most 1000 objects and arrays within each other, found more")}},
	{"nested too deep in a call", `{"jsonrpc":"2.0","id":1,"method":"echo","params":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, []string{refused("null", -32600, "expected at most 1000 objects and arrays within each other, found more")}},
	{"nested just deep enough", `{"jsonrpc":"2.0","id":1,"method":"echo","params":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + `}`, []string{result("1", strings.Repeat("[", 999)+strings.Repeat("]", 999))}},
	{"brackets in a string are not nesting", `{"jsonrpc":"2.0","id":1,"method":"echo","params":["\"` + strings.Repeat("[", 2000) + `"]}`, []string{result("1", `["\"`+strings.Repeat("[", 2000)+`"]`)}},
}

func TestLines(t *testing.T) {
	for _, c := range lines {
		t.Run(c.name, func(t *testing.T) {
			for _, end := range []string{"\n", "", "\r\n"} {
				o := rpc.Options{Ping: pingName, Cancel: cancelName}
				got := answers(t, c.in+"\n"+goesOn+end, echo, o)
				same(t, got, append(c.out[:len(c.out):len(c.out)], result(`"on"`, `"none"`)))
			}
		})
	}
}

// same compares lines as JSON, numbers as they are written.
func same(t testing.TB, got, want []string) {
	t.Helper()
	// Not cmp alone: what it takes doubles with each level of nesting.
	if g, w := parsed(t, got), parsed(t, want); !reflect.DeepEqual(g, w) {
		t.Errorf("answers (-want +got):\n%s", cmp.Diff(w, g))
	}
}

func parsed(t testing.TB, lines []string) []any {
	t.Helper()
	values := []any{}
	for _, l := range lines {
		d := json.NewDecoder(bytes.NewReader([]byte(l)))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Errorf("%q is not JSON: %v", l, err)
		}
		values = append(values, v)
	}
	return values
}

// People read these lines in logs.
func TestMarkupIsNotEscaped(t *testing.T) {
	got := answers(t, `{"jsonrpc":"2.0","id":1,"method":"<a&b>"}`, echo, rpc.Options{})
	if want := `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no <a&b>"}}`; len(got) != 1 || got[0] != want {
		t.Errorf("answers = %q, want %s", got, want)
	}
}

func TestLongLines(t *testing.T) {
	call := func(size int) string {
		frame := `{"jsonrpc":"2.0","id":1,"method":"echo","params":[""]}`
		return strings.Replace(frame, `""`, `"`+strings.Repeat("a", size-len(frame))+`"`, 1)
	}
	tooLong := func(max int) string {
		return refused("null", -32600, fmt.Sprintf("expected a line of at most %d bytes, found a longer one", max))
	}
	const small = 100_000
	for _, c := range []struct {
		name string
		in   string
		max  int
		want string
	}{
		{"5 MiB of the default 8", call(5 << 20), 0, "served"},
		{"20 MiB of the default 8", call(20 << 20), 0, tooLong(8 << 20)},
		{"as long as allowed", call(small), small, "served"},
		{"as long as allowed with CRLF", call(small) + "\r", small, "served"},
		{"one byte more", call(small + 1), small, tooLong(small)},
		{"one byte more with CRLF", call(small+1) + "\r", small, tooLong(small)},
		{"short of one chunk, one byte more", call(501), 500, tooLong(500)},
		{"blank but too long", strings.Repeat(" ", small+1), small, tooLong(small)},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, in := range []string{c.in + "\n" + goesOn, goesOn + "\n" + c.in} {
				got := answers(t, in, echo, rpc.Options{MaxLine: c.max})
				if len(got) != 2 {
					t.Fatalf("%d answers, want 2", len(got))
				}
				at := 0
				if strings.HasPrefix(in, goesOn) {
					at = 1
				}
				if served := strings.HasPrefix(got[at], `{"jsonrpc":"2.0","id":1,"result":["aaa`); c.want == "served" != served {
					t.Errorf("served = %v, want %s", served, c.want)
				}
				if c.want != "served" {
					same(t, got[at:at+1], []string{c.want})
				}
				same(t, got[1-at:2-at], []string{result(`"on"`, `"none"`)})
			}
		})
	}
}

func TestArrays(t *testing.T) {
	call := func(id, method string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"}`
	}
	const note = `{"jsonrpc":"2.0","method":"echo"}`
	many := "[" + strings.Repeat(note+",", 1000)
	for _, c := range []struct {
		name string
		in   string
		out  []string
	}{
		{"calls and a notification", "[" + call("1", "echo") + " , " + note + ",\t" + call("2", "fails") + "," + call(`"p"`, "ping") + "]", []string{
			"[" + result("1", `"none"`) + "," + refused("2", -32603, "the disk is <full>\nand \ufffd") + "," + result(`"p"`, "{}") + "]",
		}},
		{"notifications alone", "[" + note + "," + note + "]", nil},
		{"responses alone", `[{"id":1,"result":1}]`, nil},
		{"what is no message", `[1,[],{},` + call("{}", "echo") + `]`, []string{"[" +
			refused("null", -32600, "expected an object as the message, found a number") + "," +
			refused("null", -32600, "expected an object as the message, found an array") + "," +
			refused("null", -32600, notVersion+"nothing") + "," +
			refused("null", -32600, notID+"an object") + "]"}},
		{"one id twice", "[" + call("1", "echo") + "," + call("1", "echo") + "]", []string{"[" + result("1", `"none"`) + "," + refused("1", -32600, inFlight) + "]"}},
		{"empty", "[ ]", []string{refused("null", -32600, "expected a message, found an empty array")}},
		{"a panic inside", "[" + call("1", "panics") + "," + call("2", "echo") + "]", []string{"[" +
			refused("1", -32603, "the server failed on this call and goes on; the reason is in its log") + "," + result("2", `"none"`) + "]"}},
		{"a thousand", many[:len(many)-1] + "]", nil},
		{"more than a thousand", many + note + "]", []string{refused("null", -32600, "expected at most 1000 messages in an array, found more")}},
		{"between single calls", call("1", "echo") + "\n[" + call("2", "echo") + "]\n" + call("3", "echo"), []string{
			result("1", `"none"`), "[" + result("2", `"none"`) + "]", result("3", `"none"`),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := rpc.Options{Ping: pingName, Cancel: cancelName, Batches: func() bool { return true }}
			got := answers(t, c.in+"\n"+goesOn, echo, o)
			same(t, got, append(c.out, result(`"on"`, `"none"`)))
		})
	}
}

// Whether arrays are served is asked in their turn, after the calls before them, and
// an array that was refused keeps none of its ids.
func TestArraysAreAskedForInTurn(t *testing.T) {
	var mu sync.Mutex
	served := false
	h := func(ctx context.Context, c *rpc.Call) (rpc.Reply, error) {
		mu.Lock()
		defer mu.Unlock()
		served = c.Method == "on"
		return rpc.Reply{Result: json.RawMessage(`"` + c.Method + `"`)}, nil
	}
	o := rpc.Options{Batches: func() bool {
		mu.Lock()
		defer mu.Unlock()
		return served
	}}
	for range 20 {
		served = false
		same(t, answers(t, strings.Join([]string{
			`[{"jsonrpc":"2.0","id":3,"method":"x"}]`,
			`{"jsonrpc":"2.0","id":1,"method":"on"}`,
			`[{"jsonrpc":"2.0","id":2,"method":"off"}]`,
			`[{"jsonrpc":"2.0","id":4,"method":"x"}]`,
		}, "\n"), h, o), []string{
			refused("null", -32600, notBatch), result("1", `"on"`), "[" + result("2", `"off"`) + "]", refused("null", -32600, notBatch),
		})
	}
}

// The results that one array may hold are bounded; what is behind them is refused
// and not run.
func TestArrayOfLongResults(t *testing.T) {
	long := json.RawMessage(`"` + strings.Repeat("a", 40<<20) + `"`)
	ran := 0
	h := func(context.Context, *rpc.Call) (rpc.Reply, error) {
		ran++
		return rpc.Reply{Result: long}, nil
	}
	var calls []string
	for i := range 5 {
		calls = append(calls, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"long"}`, i))
	}
	var out bytes.Buffer
	o := rpc.Options{Grace: noHurry, Batches: func() bool { return true }}
	if err := rpc.Serve(context.Background(), strings.NewReader("["+strings.Join(calls, ",")+"]"), &out, h, o); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out.Bytes(), []byte(`"code":-32603`)); n != 3 || ran != 2 {
		t.Errorf("%d calls were refused and %d were run, want 3 and 2", n, ran)
	}
}
