package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/repl"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/builtin"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// The exit codes, for scripts. They are listed by tenon help exit-codes and in
// docs/cli.md.
const (
	exitOK          = 0
	exitTool        = 1   // the tool failed, or a check found problems
	exitUsage       = 2   // invalid command line or configuration
	exitProtocol    = 3   // the server returned an error or violated the protocol
	exitConnection  = 4   // the server could not be started or reached, or timed out
	exitModel       = 5   // the model failed, or none is connected
	exitDenied      = 6   // a rule denied a call, or nobody was there to ask
	exitLimit       = 7   // a limit ended the run
	exitInterrupted = 130 // by a signal
)

const exitCodesHelp = `Exit codes

  0    success
  1    the tool failed (isError), its task was cancelled, or doctor, replay or
       skills verify found problems; run: a server failed a call, the model
       refused to answer, or the answer does not match --json-schema
  2    invalid command line or configuration
  3    the server returned an error or violated the protocol
  4    the server could not be started or reached, or timed out
  5    the model failed (key, quota, network), or none is connected
  6    run: a call was denied; the answer is printed
  7    run: a limit was reached (--max-turns, --max-budget, --timeout, length of
       the answer or of the conversation); the answer so far is printed
  130  interrupted
`

func exitCodesCommand() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "List the exit codes", Long: exitCodesHelp}
}

// A usageError reports an invalid command line or configuration.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errFound sets the exit code of a command that has already printed its findings.
var errFound = errors.New("")

// exitWith is the exit code of another program.
type exitWith int

func (e exitWith) Error() string { return "" }

// exitError is an error with its exit code.
type exitError struct {
	error
	code exitWith
}

func (e exitError) Unwrap() []error { return []error{e.error, e.code} }

// exitCode returns the exit code for the error of a command.
func exitCode(err error) int {
	var (
		chosen      exitWith
		usage       usageError
		line        *repl.UsageError
		options     *builtin.OptionError
		unavailable *connect.UnavailableError
		tool        *client.ToolError
		answer      *mcp.Error
		silent      *client.TimeoutError
		unverified  *skills.VerificationError
		open        *openQuestion
		limit       *host.LimitError
		model       *llm.Error
		form        *host.FormError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &chosen):
		return int(chosen)
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &line), errors.As(err, &options):
		return exitUsage
	case errors.As(err, &limit):
		return exitLimit
	case errors.As(err, &model):
		if model.Kind == llm.ErrContextLength {
			return exitLimit
		}
		return exitModel
	case errors.Is(err, host.ErrNoModel):
		return exitModel
	case errors.Is(err, errFound), errors.As(err, &form), errors.As(err, &tool), errors.Is(err, tasks.ErrCancelled):
		return exitTool
	case errors.As(err, &unavailable), errors.As(err, &silent):
		return exitConnection
	case errors.As(err, &answer), errors.As(err, &unverified), errors.As(err, &open):
		return exitProtocol
	}
	return exitConnection
}

// fail prints an error to standard error, with the data of a server's error. In
// the formats for scripts it also prints an object to standard output. Secrets
// are removed.
func (p *program) fail(err error) {
	text := "tenon: " + visible.Text(p.secrets.Text(err.Error()))
	answer, _ := errors.AsType[*mcp.Error](err)
	if answer != nil && len(answer.Data) > 0 {
		text += "\n  data: " + visible.Line(string(p.secrets.JSON(answer.Data)))
	}
	fmt.Fprintln(p.err, text)
	f, bad := show.ParseFormat(p.format)
	if bad != nil || f == show.Text || p.reported {
		return
	}
	out := &show.Printer{W: p.out, Format: f}
	out.Value(map[string]any{"error": p.errorObject(err)}) // if this fails, there is nowhere to report it
}

// errorObject describes an error in the formats for scripts, without secrets.
func (p *program) errorObject(err error) map[string]any {
	object := map[string]any{"message": p.secrets.Text(err.Error()), "exitCode": exitCode(err)}
	if answer, ok := errors.AsType[*mcp.Error](err); ok && !answer.Local {
		object["code"], object["message"] = answer.Code, p.secrets.Text(answer.Message)
		if len(answer.Data) > 0 {
			object["data"] = json.RawMessage(p.secrets.JSON(answer.Data))
		}
	}
	return object
}
