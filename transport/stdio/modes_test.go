package stdio

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// modes are the servers that the test binary can play.
var modes = map[string]func(){
	"echo":        func() { _, _ = io.Copy(os.Stdout, os.Stdin) },
	"crash":       playCrash,
	"stubborn":    playStubborn,
	"deaf":        playDeaf,
	"flood":       playFlood,
	"chatter":     playChatter,
	"noise":       playNoise,
	"environment": playEnvironment,
	"polite":      playPolite,
	"server":      playServer,
	"server wait": playServerWait,
	"mcp":         playMCP,
	"brittle":     playBrittle,
	"patient":     playPatient,
}

// forever sleeps until the process is killed.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

func playCrash() {
	fmt.Fprintln(os.Stderr, "no \x1b[31mconfig\x1b[0m file")
	fmt.Fprint(os.Stderr, "bad byte \xff")
	os.Exit(3)
}

// playStubborn ignores the end of its input and all polite signals.
func playStubborn() {
	signal.Ignore(syscall.SIGTERM, os.Interrupt)
	fmt.Println("ready")
	forever()
}

// playDeaf never reads, but obeys signals.
func playDeaf() {
	fmt.Println("ready")
	forever()
}

// playFlood fills stdout after the end of its input, then ends in order.
func playFlood() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	w := bufio.NewWriter(os.Stdout)
	for range 200_000 {
		fmt.Fprintln(w, `{"jsonrpc":"2.0","method":"notifications/message"}`)
	}
	if w.Flush() != nil {
		os.Exit(5)
	}
}

// playChatter writes a megabyte without a newline to stderr, then a few lines.
func playChatter() {
	fmt.Fprint(os.Stderr, strings.Repeat("x", 1<<20))
	fmt.Fprint(os.Stderr, "\r\nlast but one\nlast")
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func playNoise() {
	fmt.Println("Server listening on stdio")
	fmt.Println()
	fmt.Println(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func playEnvironment() {
	env := os.Environ()
	slices.Sort(env)
	for _, e := range env {
		fmt.Println(e)
	}
}

// playPolite ends in order on SIGTERM and says so.
func playPolite() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM)
	fmt.Println("ready")
	<-c
	fmt.Fprintln(os.Stderr, "terminating")
}

// playServer echoes messages through Standard while a careless tool prints.
func playServer() {
	early := log.New(os.Stdout, "", 0)
	s, err := Standard(0)
	if err != nil {
		panic(err)
	}
	for {
		frame, err := s.Read()
		if err != nil {
			break
		}
		fmt.Println("stray println")
		early.Print("stray early logger")
		strayOutsideGo()
		if n, _ := io.Copy(io.Discard, os.Stdin); n != 0 {
			panic("a tool could read the protocol's input")
		}
		if err := s.Write(append(frame, '\n')); err != nil {
			panic(err)
		}
	}
	if err := s.Close(); err != nil {
		panic(err)
	}
	fmt.Println("after close")
}

// playServerWait closes its stream while a Read waits.
func playServerWait() {
	s, err := Standard(0)
	if err != nil {
		panic(err)
	}
	if err := s.Write([]byte("ready\n")); err != nil {
		panic(err)
	}
	read := make(chan error)
	go func() {
		_, err := s.Read()
		read <- err
	}()
	time.Sleep(20 * time.Millisecond) // so that Read most likely waits; either order must work
	if err := s.Close(); err != nil {
		panic(err)
	}
	if <-read == nil {
		panic("Read returned a frame that nobody sent")
	}
	// On Unix a pipe's Read really ends; elsewhere one goroutine stays in it.
	for n := 0; runtime.GOOS != "windows" && runtime.NumGoroutine() > 1; n++ {
		if n == 30_000 {
			panic("a goroutine was left behind")
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Println("closed")
}
