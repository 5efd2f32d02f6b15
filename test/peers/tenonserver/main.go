// Command tenonserver is the test server of this folder, written with Tenon,
// on stdin and stdout or over HTTP.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/stdio"

	"github.com/tenon-mcp/tenon/test/peers/internal/frames"
)

func main() {
	log.SetFlags(0)
	only := flag.String("only", "", `"modern" or "legacy": refuse clients of the other era; empty means that all are served`)
	file := flag.String("frames", "", "a file that every message is appended to; empty means none")
	addr := flag.String("http", "", "serve over HTTP at this address instead: /mcp, and HTTP+SSE at /sse")
	withTasks := flag.Bool("tasks", false, "add tools whose calls are tasks")
	folder := flag.String("skills", "", "also serve the skills in this folder")
	flag.Parse()
	recording, err := frames.To(*file)
	if err != nil {
		log.Fatal(err)
	}
	s := server.New(mcp.Implementation{Name: "tenonserver", Version: "1.0.0"}, nil)
	addTools(s)
	if err := addRest(s); err != nil {
		log.Fatal(err)
	}
	if *withTasks {
		if err := addTasks(s); err != nil {
			log.Fatal(err)
		}
	}
	if *folder != "" {
		if err := skills.Add(s, os.DirFS(*folder), &skills.Options{PageSize: 1, Cache: mcp.Cache{TTL: time.Minute}}); err != nil {
			log.Fatal(err)
		}
	}
	opts := era.ServerOptions{
		ModernOnly:     *only == "modern",
		LegacyOnly:     *only == "legacy",
		OnInvalidFrame: func(frame []byte, err error) { log.Printf("noise: %v: %q", err, frame) },
	}
	if *addr != "" {
		err = serveHTTP(*addr, s, opts, recording)
	} else {
		opts.Tap = recording.Tap
		err = stdio.Serve(context.Background(), s, &opts)
	}
	if err != nil {
		log.Fatal(err)
	}
}

type addIn struct {
	A int `json:"a"`
	B int `json:"b"`
}

type addOut struct {
	Sum int `json:"sum"`
}

type echoIn struct {
	Msg string `json:"msg"`
}

type slowIn struct {
	MS int `json:"ms"`
}

type person struct {
	Name string `json:"name"`
}

type none struct{}

func addTools(s *server.Server) {
	server.AddTool(s, "add", "adds two integers", func(_ context.Context, _ *mcp.Call, in addIn) (addOut, error) {
		return addOut{in.A + in.B}, nil
	}, nil)
	server.AddTool(s, "echo", "says the message again", func(_ context.Context, _ *mcp.Call, in echoIn) (string, error) {
		// A stray line must not reach the client.
		fmt.Println("a tool that prints")
		return in.Msg, nil
	}, nil)
	server.AddTool(s, "ask", "asks for a name and greets", func(_ context.Context, c *mcp.Call, _ none) (string, error) {
		p, err := server.Elicit[person](c, "name", "What is your name?")
		if err != nil {
			return "", err
		}
		return "Hello, " + p.Name + "!", nil
	}, nil)
	server.AddTool(s, "slow", "takes ms milliseconds, in three parts", slow, nil)
	server.AddTool(s, "log", "logs three lines", func(_ context.Context, c *mcp.Call, _ none) (string, error) {
		//lint:ignore SA1019 the test is about this deprecated feature
		l := server.Logger(c, "peer")
		for _, line := range []string{"one", "two", "three"} {
			l.Info(line)
		}
		return "logged", nil
	}, nil)
	server.AddTool(s, "grow", "adds the tool grown", func(context.Context, *mcp.Call, none) (string, error) {
		server.AddTool(s, "grown", "was added at run time", func(context.Context, *mcp.Call, none) (string, error) {
			return "grown", nil
		}, nil)
		return "added", nil
	}, nil)
}

func slow(ctx context.Context, c *mcp.Call, in slowIn) (string, error) {
	for i := 1; i <= 3; i++ {
		server.Progress(c, float64(i), 3, "")
		select {
		case <-ctx.Done():
			fmt.Fprintln(os.Stderr, "slow: cancelled")
			return "", ctx.Err()
		case <-time.After(time.Duration(in.MS) * time.Millisecond / 3):
		}
	}
	return "done", nil
}

func addRest(s *server.Server) error {
	err := s.AddResource(mcp.Resource{URI: "test://static", Name: "static", MIMEType: "text/plain"},
		func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
			return server.TextResource("text/plain", "static text"), nil
		}, nil)
	if err != nil {
		return err
	}
	err = s.AddTemplate(mcp.ResourceTemplate{URITemplate: "welcome://{userId}", Name: "welcome", MIMEType: "text/plain"},
		func(_ context.Context, _ *mcp.Call, _ string, vars map[string]string) ([]mcp.ResourceContents, error) {
			return server.TextResource("text/plain", "Welcome, "+vars["userId"]+"!"), nil
		}, nil)
	if err != nil {
		return err
	}
	server.AddPrompt(s, "greet", "asks for a greeting", func(_ context.Context, _ *mcp.Call, in person) (string, error) {
		return "Please greet " + in.Name + ".", nil
	}, nil)
	return s.CompletePrompt("greet", "name", func(_ context.Context, _ *mcp.Call, value string, _ map[string]string) ([]string, error) {
		var found []string
		for _, name := range []string{"Ada", "Alan", "Grace"} {
			if strings.HasPrefix(name, value) {
				found = append(found, name)
			}
		}
		return found, nil
	})
}
