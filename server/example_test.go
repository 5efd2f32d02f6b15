package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// show serves a call and prints what it comes to. Programs use package client.
func show(h mcp.Handler, method, params string) {
	res, err := h.Serve(context.Background(), &mcp.Call{Method: method, Params: json.RawMessage(params)})
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println(string(res.Body))
}

func ExampleNew() {
	s := server.New(mcp.Implementation{Name: "shop", Version: "1.0"}, &server.Options{
		Instructions: "Look up prices before you name them.",
		ListCache:    mcp.Cache{TTL: time.Minute, Scope: mcp.ScopePublic},
	})
	show(s, mcp.MethodDiscover, ``)
	// Output: {"capabilities":{"logging":{}},"instructions":"Look up prices before you name them."}
}

func ExampleAddTool() {
	type search struct {
		Text  string `json:"text" doc:"what to look for"`
		Limit int    `json:"limit" doc:"how many at most" schema:"minimum=1,maximum=50,default=10"`
	}
	type found struct {
		Titles []string `json:"titles"`
	}
	s := server.New(mcp.Implementation{Name: "library", Version: "1.0"}, nil)
	server.AddTool(s, "search", "Find books", func(_ context.Context, _ *mcp.Call, in search) (found, error) {
		if in.Text == "" {
			return found{}, errors.New("text is empty: say what to look for")
		}
		return found{[]string{"All about " + in.Text}}, nil
	}, &server.ToolOptions{Title: "Search the catalogue", Annotations: server.ReadOnly()})

	show(s, mcp.MethodToolsCall, `{"name":"search","arguments":{"text":"joinery"}}`)
	// The model is told everything that is wrong, and the func is not called.
	show(s, mcp.MethodToolsCall, `{"name":"search","arguments":{"limit":99}}`)
	// Output:
	// {"structuredContent":{"titles":["All about joinery"]},"content":[{"type":"text","text":"{\"titles\":[\"All about joinery\"]}"}]}
	// {"content":[{"type":"text","text":"Invalid arguments for search:\nlimit: must be at most 50\ntext: is required but missing; expected a string"}],"isError":true}
}

func ExampleServer_AddRawTool() {
	s := server.New(mcp.Implementation{Name: "raw", Version: "1.0"}, nil)
	err := s.AddRawTool(mcp.Tool{
		Name: "count",
		// It may come from a file, or from another server.
		InputSchema: json.RawMessage(`{"type":"object","properties":{"words":{"type":"array","items":{"type":"string"}}},"required":["words"]}`),
	}, func(_ context.Context, _ *mcp.Call, args json.RawMessage) (*mcp.CallToolResult, error) {
		var in struct{ Words []string }
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(fmt.Sprint(len(in.Words)))}}, nil
	})
	if err != nil {
		fmt.Println(err)
	}
	show(s, mcp.MethodToolsCall, `{"name":"count","arguments":{"words":["a","b"]}}`)
	// Output: {"content":[{"type":"text","text":"2"}]}
}

func ExampleServer_AddResource() {
	s := server.New(mcp.Implementation{Name: "docs", Version: "1.0"}, nil)
	hour := mcp.Cache{TTL: time.Hour, Scope: mcp.ScopePublic}
	err := s.AddResource(mcp.Resource{URI: "docs://licence", Name: "licence", MIMEType: "text/plain"},
		func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
			return server.TextResource("", "Do what is right."), nil
		}, &server.ResourceOptions{Cache: hour})
	if err != nil {
		fmt.Println(err)
	}
	show(s, mcp.MethodResourcesRead, `{"uri":"docs://licence"}`)
	s.ResourceUpdated("docs://licence") // tells those who listen for it
	// Output: {"contents":[{"uri":"docs://licence","mimeType":"text/plain","text":"Do what is right."}]}
}

func ExampleServer_AddTemplate() {
	users := map[string]string{"7": "Ada"}
	s := server.New(mcp.Implementation{Name: "users", Version: "1.0"}, nil)
	err := s.AddTemplate(mcp.ResourceTemplate{URITemplate: "users://{id}", Name: "user"},
		func(_ context.Context, _ *mcp.Call, uri string, vars map[string]string) ([]mcp.ResourceContents, error) {
			name, ok := users[vars["id"]]
			if !ok {
				return nil, mcp.ResourceNotFound(uri)
			}
			return server.JSONResource(map[string]string{"name": name})
		}, nil)
	if err != nil {
		fmt.Println(err)
	}
	show(s, mcp.MethodResourcesRead, `{"uri":"users://7"}`)
	show(s, mcp.MethodResourcesRead, `{"uri":"users://8"}`)
	// Output:
	// {"contents":[{"uri":"users://7","mimeType":"application/json","text":"{\"name\":\"Ada\"}"}]}
	// error: no resource has the URI "users://8" (-32602)
}

func ExampleAddPrompt() {
	type review struct {
		Code   string `json:"code" doc:"what to review"`
		Style  string `json:"style,omitempty" schema:"enum=kind|blunt"`
		Points int    `json:"points" schema:"default=3"`
	}
	s := server.New(mcp.Implementation{Name: "prompts", Version: "1.0"}, nil)
	server.AddPrompt(s, "review", "Review some code", func(_ context.Context, _ *mcp.Call, in review) (string, error) {
		return fmt.Sprintf("Make %d points about %s", in.Points, in.Code), nil
	}, nil)
	show(s, mcp.MethodPromptsGet, `{"name":"review","arguments":{"code":"x := 1","points":"2"}}`)
	// An enum is completed by itself.
	show(s, mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"review"},"argument":{"name":"style","value":"b"}}`)
	// Output:
	// {"description":"Review some code","messages":[{"role":"user","content":{"type":"text","text":"Make 2 points about x := 1"}}]}
	// {"completion":{"values":["blunt"],"total":1}}
}

func ExampleServer_CompletePrompt() {
	cities := map[string][]string{"fr": {"Paris", "Pau"}, "it": {"Parma", "Pisa"}}
	type trip struct {
		Country string `json:"country"`
		City    string `json:"city"`
	}
	s := server.New(mcp.Implementation{Name: "travel", Version: "1.0"}, nil)
	server.AddPrompt(s, "trip", "Plan a trip", func(_ context.Context, _ *mcp.Call, in trip) (string, error) {
		return "Plan a trip to " + in.City, nil
	}, nil)
	err := s.CompletePrompt("trip", "city", func(_ context.Context, _ *mcp.Call, value string, others map[string]string) ([]string, error) {
		var fit []string
		for _, city := range cities[others["country"]] {
			if strings.HasPrefix(city, value) {
				fit = append(fit, city)
			}
		}
		return fit, nil
	})
	if err != nil {
		fmt.Println(err)
	}
	show(s, mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"trip"},"argument":{"name":"city","value":"Par"},"context":{"arguments":{"country":"it"}}}`)
	// Output: {"completion":{"values":["Parma"],"total":1}}
}

func ExampleElicit() {
	type seat struct {
		Row    int  `json:"row" schema:"minimum=1,maximum=30"`
		Window bool `json:"window"`
	}
	s := server.New(mcp.Implementation{Name: "airline", Version: "1.0"}, nil)
	server.AddTool(s, "book", "Book a seat", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		// All that is done before the answer is here is done again.
		in, err := server.Elicit[seat](c, "seat", "Where do you want to sit?")
		if err != nil {
			return "", err // as it is: it asks, or tells the model that the person declined
		}
		return fmt.Sprintf("Booked row %d, window: %t", in.Row, in.Window), nil
	}, nil)

	// A client that answers for the person.
	person := func(_ context.Context, _ *mcp.Call, key string, q mcp.InputRequest) (json.RawMessage, error) {
		fmt.Println("asked for", key)
		return json.RawMessage(`{"action":"accept","content":{"row":12,"window":true}}`), nil
	}
	call := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"book"}`)}
	call.Caller.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}
	res, err := mcp.HandleInput(s, person, 0).Serve(context.Background(), call)
	fmt.Println(string(res.Body), err)
	// Output:
	// asked for seat
	// {"content":[{"type":"text","text":"Booked row 12, window: true"}]} <nil>
}

// answered serves a call of a tool for a person who accepts everything.
func answered(s *server.Server, tool string, contents map[string]string) {
	person := func(_ context.Context, _ *mcp.Call, key string, q mcp.InputRequest) (json.RawMessage, error) {
		fmt.Println("asked for", key)
		return json.RawMessage(`{"action":"accept","content":` + contents[key] + `}`), nil
	}
	call := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"` + tool + `"}`)}
	call.Caller.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}
	res, err := mcp.HandleInput(s, person, 0).Serve(context.Background(), call)
	fmt.Println(string(res.Body), err)
}

func ExampleOnce() {
	type confirm struct {
		Pay bool `json:"pay"`
	}
	s := server.New(mcp.Implementation{Name: "airline", Version: "1.0"}, nil)
	server.AddTool(s, "book", "Book a seat", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		seat, err := server.Once(c, "reserve", func() (string, error) {
			fmt.Println("reserved") // not again when the answer is there
			return "12A", nil
		})
		if err != nil {
			return "", err
		}
		ok, err := server.Elicit[confirm](c, "confirm", "Pay for seat "+seat+"?")
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Seat %s, paid: %t", seat, ok.Pay), nil
	}, nil)
	answered(s, "book", map[string]string{"confirm": `{"pay":true}`})
	// Output:
	// reserved
	// asked for confirm
	// {"content":[{"type":"text","text":"Seat 12A, paid: true"}]} <nil>
}

func ExampleAskAll() {
	type person struct {
		Name string `json:"name"`
	}
	type meal struct {
		Dish string `json:"dish" schema:"enum=pasta|curry"`
	}
	s := server.New(mcp.Implementation{Name: "kitchen", Version: "1.0"}, nil)
	server.AddTool(s, "order", "Order a meal", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		var who person
		var what meal
		err := server.AskAll(c,
			server.FormInput("who", "Who are you?", &who),
			server.FormInput("what", "What do you want to eat?", &what),
		)
		if err != nil {
			return "", err
		}
		return who.Name + " gets " + what.Dish, nil
	}, nil)
	answered(s, "order", map[string]string{"who": `{"name":"Ada"}`, "what": `{"dish":"curry"}`})
	// Output:
	// asked for what
	// asked for who
	// {"content":[{"type":"text","text":"Ada gets curry"}]} <nil>
}

func ExampleServer_OnNotification() {
	s := server.New(mcp.Implementation{Name: "desk", Version: "1.0"}, nil)
	s.OnNotification("notifications/x.example/typing", func(_ context.Context, c *mcp.Call) {
		fmt.Println("typing:", string(c.Params))
	})
	// Clients send it with client.Notify.
	s.Serve(context.Background(), &mcp.Call{
		Method:         "notifications/x.example/typing",
		Params:         json.RawMessage(`{"room":"lobby"}`),
		IsNotification: true,
	})
	// Output: typing: {"room":"lobby"}
}

// notes serves a call of a tool for a caller who wants to hear everything.
func notes(s *server.Server, tool string) {
	call := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"` + tool + `"}`), Progress: true}
	call.Caller.LogLevel = mcp.LogInfo
	call.OnNotification = func(n mcp.Notification) { fmt.Println(n.Method, string(n.Params)) }
	if _, err := s.Serve(context.Background(), call); err != nil {
		fmt.Println(err)
	}
}

func ExampleProgress() {
	s := server.New(mcp.Implementation{Name: "slow", Version: "1.0"}, nil)
	server.AddTool(s, "copy", "Copy files", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		files := []string{"a.txt", "b.txt"}
		for i, file := range files {
			server.Progress(c, float64(i+1), float64(len(files)), file)
		}
		return "done", nil
	}, nil)
	notes(s, "copy")
	// Output:
	// notifications/progress {"progress":1,"total":2,"message":"a.txt"}
	// notifications/progress {"progress":2,"total":2,"message":"b.txt"}
}

func ExampleLogger() {
	s := server.New(mcp.Implementation{Name: "chatty", Version: "1.0"}, nil)
	server.AddTool(s, "sync", "Fetch everything", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		log := server.Logger(c, "sync").With("host", "example.com")
		log.Debug("not wanted by this caller")
		log.Warn("slow answer", "took", 3*time.Second)
		return "done", nil
	}, nil)
	notes(s, "sync")
	// Output: notifications/message {"level":"warning","logger":"sync","data":{"host":"example.com","message":"slow answer","took":"3s"}}
}

func ExampleOptions_allow() {
	s := server.New(mcp.Implementation{Name: "house", Version: "1.0"}, &server.Options{
		Allow: func(c *mcp.Caller, f server.Feature) bool {
			return f.Name != "open_safe" || c.Principal != nil && c.Principal.ID == "owner"
		},
	})
	server.AddTool(s, "open_safe", "Open the safe", func(context.Context, *mcp.Call, struct{}) (string, error) { return "open", nil }, nil)
	show(s, mcp.MethodToolsList, ``)
	show(s, mcp.MethodToolsCall, `{"name":"open_safe"}`)
	call := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"open_safe"}`)}
	call.Caller.Principal = &mcp.Principal{ID: "owner"} // the transport says who it is
	res, err := s.Serve(context.Background(), call)
	fmt.Println(string(res.Body), err)
	// Output:
	// {"tools":[]}
	// error: unknown tool "open_safe" (-32602)
	// {"content":[{"type":"text","text":"open"}]} <nil>
}

func ExampleOptions_middleware() {
	count := func(next mcp.Handler) mcp.Handler {
		calls := 0
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			calls++
			fmt.Println("call", calls, "is", c.Method)
			return next.Serve(ctx, c)
		})
	}
	s := server.New(mcp.Implementation{Name: "counted", Version: "1.0"}, &server.Options{
		Middleware: []mcp.Middleware{count},
	})
	show(s, mcp.MethodDiscover, ``)
	show(s, "no/such", ``)
	// Output:
	// call 1 is server/discover
	// {"capabilities":{"logging":{}}}
	// call 2 is no/such
	// error: unknown method "no/such" (-32601)
}

// An Output says what the model reads beside the structured content, for one
// tool or one call.
func ExampleOutput() {
	type stock struct {
		Item  string `json:"item"`
		Count int    `json:"count" schema:"minimum=0"`
	}
	s := server.New(mcp.Implementation{Name: "shop", Version: "1.0"}, nil)
	server.AddTool(s, "count", "Count what is in stock", func(_ context.Context, _ *mcp.Call, in struct {
		Item string `json:"item"`
	}) (server.Output[stock], error) {
		left := stock{in.Item, 2}
		return server.Output[stock]{Structured: left, Text: fmt.Sprintf("%d %ss are left; order more.", left.Count, left.Item)}, nil
	}, nil)
	res, err := s.Serve(context.Background(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"count","arguments":{"item":"chair"}}`)})
	fmt.Println(string(res.Body), err)
	// Output: {"structuredContent":{"item":"chair","count":2},"content":[{"type":"text","text":"2 chairs are left; order more."}]} <nil>
}

// A raw tool may have a name that the specification does not recommend. The
// server logs a warning.
func ExampleServer_AddRawTool_name() {
	warnings := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.MessageKey {
			return slog.Attr{}
		}
		return a
	}}))
	s := server.New(mcp.Implementation{Name: "bridge", Version: "1.0"}, &server.Options{Log: warnings})
	err := s.AddRawTool(mcp.Tool{Name: "disk/free", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.Call, json.RawMessage) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("3 GB")}}, nil
		})
	fmt.Println(err)
	// Output:
	// level=WARN tool=disk/free
	// <nil>
}
