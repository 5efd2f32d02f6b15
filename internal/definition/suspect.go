package definition

import (
	"regexp"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/visible"
)

// A sign is a pattern of texts that give orders to a model instead of describing
// a tool.
type sign struct {
	pattern *regexp.Regexp
	says    string
}

// signs are searched in every text of a definition. They are warnings for the
// user, not a filter.
var signs = sync.OnceValue(func() []sign {
	return []sign{
		{regexp.MustCompile(`(?i)<\s*/?\s*(important|system|instructions?|secret|hidden)\b`), "it contains tags that imitate instructions"},
		{regexp.MustCompile(`(?i)\b(ignore|disregard|forget|override)\b.{0,40}\b(previous|prior|above|earlier|other|all)\b.{0,30}\b(instruction|prompt|rule|message|tool)`), "it tells the model to ignore instructions"},
		{regexp.MustCompile(`(?i)\b(do not|don't|never|without)\b.{0,30}\b(tell|telling|mention|mentioning|inform|informing|show|reveal|notify)\b.{0,30}\b(user|person|human|anyone)`), "it tells the model to hide something from you"},
		{regexp.MustCompile(`(?i)(~/|/root/|/home/[a-z]+/|\$HOME/)?\.(ssh|aws|gnupg|netrc|npmrc|kube|docker/config)|id_(rsa|ed25519)|/etc/(passwd|shadow)|\.env\b`), "it names files that hold secrets"},
		{regexp.MustCompile(`(?i)\b(before|after|when|whenever|instead of)\b.{0,40}\b(using|calling|call|use)\b.{0,30}\b(any|other|another|every|all)\b.{0,20}\btools?\b`), "it gives instructions about other tools"},
		{regexp.MustCompile(`(?i)\b(you must|you are required to|always)\b.{0,60}\b(send|pass|include|forward|upload|copy|read|call)\b`), "it gives the model instructions"},
		{regexp.MustCompile(`(?i)\b(api[ _-]?keys?|passwords?|credentials?|access tokens?|private keys?)\b.{0,60}\b(pass|send|include|provide|as (an?|the) (argument|parameter)|sidenote)\b`), "it asks for credentials"},
	}
})

// lookedAt is the number of bytes of a text that are searched. A model gets less.
const lookedAt = 128 << 10

// Beginning returns the part of a text that is searched.
func Beginning(s string) string {
	if len(s) <= lookedAt {
		return s
	}
	return strings.ToValidUTF8(s[:lookedAt], "")
}

// Suspect returns what is suspicious about a text of a definition: orders to the
// model and hidden characters.
func Suspect(text string) []string { return suspect(text, signs()) }

// SuspectResult returns what is suspicious about a result for the model.
func SuspectResult(text string) []string {
	return suspect(text, signs()[:3]) // the others are normal in results
}

func suspect(s string, signs []sign) []string {
	s = Beginning(s)
	found := visible.Suspicious(s)
	for _, sign := range signs {
		if sign.pattern.MatchString(s) {
			found = append(found, sign.says)
		}
	}
	return found
}
