package permit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/tenon-mcp/tenon/mcp"
)

// secretWords are names for secrets, after plainWords has made single words
// with spaces between them. They stand as whole words.
var secretWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^| )(` + strings.Join([]string{
		`pass ?words?`, `passwds?`, `pwd`, `pass ?phrases?`, `pass ?codes?`, `secrets?`, `client secret`, `credentials?`,
		`(auth|access|api|bearer|refresh|session|id|personal|github|slack|security|csrf|jwt)? ?token`, `jwt`, `pat`,
		`(api|access|secret|private|encryption|signing|ssh|pgp|gpg|master|license|account|recovery|service) ?keys?`, `bearer`, `authorization`,
		`(credit|debit|bank|payment)? ?card (number|no|num)`, `(credit|debit|bank|payment) ?cards?`, `card ?number`, `cc ?(number|num|no)`, `cvv2?`, `cvc2?`, `csc`, `pan`, `iban`, `security code`,
		`pins?`, `pin (code|number)`, `otp`, `(one time|verification|2fa|mfa|tan|totp) ?(code|password|pin)?`, `2fa`, `mfa`, `tan`,
		`ssn`, `social security( number)?`, `seed ?phrases?`, `mnemonic`, `recovery (phrase|code)s?`, `wallet key`, `cookies?`, `dsn`, `connection string`,
		`passwort`, `kennwort`, `geheimnis`, `mot de passe`, `contrase[nñ]a`, `clave secreta`, `senha`, `wachtwoord`, `пароль`, `密码`, `密碼`, `パスワード`, `비밀번호`,
	}, "|") + `)( |$)`)
})

// SecretFields lists the fields of a form that ask for a secret, as far as
// their names, titles, descriptions and formats tell. Where none does and the
// message asks for one, these are all fields that take any text.
func SecretFields(message string, f *mcp.Form) []string {
	var found, free []string
	for i := range f.Fields {
		field := &f.Fields[i]
		text := field.Type == mcp.FieldString && len(field.Options) == 0 && !slices.Contains([]string{"date", "date-time", "email"}, field.Format)
		number := field.Type == mcp.FieldInteger || field.Type == mcp.FieldNumber
		if text {
			free = append(free, field.Name)
		}
		if text && (field.Format == "password" || namesSecret(field.Name) || namesSecret(field.Title) || namesSecret(field.Description)) || number && (namesSecret(field.Name) || namesSecret(field.Title)) {
			found = append(found, field.Name)
		}
	}
	if found == nil && namesSecret(message) {
		return free
	}
	return found
}

// SecretName reports whether something of this name is a secret.
func SecretName(name string) bool { return namesSecret(name) }

// SecretWarning is what a person is told before they fill in such fields.
func SecretWarning(server string, fields []string) string {
	return fmt.Sprintf("%s asks for what looks like a secret (%s). Servers must not ask for secrets in forms: decline if you are not sure. What you type is not shown here, and goes to %s.", server, strings.Join(fields, ", "), server)
}

func namesSecret(text string) bool {
	text = beginning(text)
	return secretWords().MatchString(plainWords(text)) || secretWords().MatchString(plainWords(unleet.Replace(strings.ToLower(text))))
}

// unleet undoes digits and signs that stand for letters.
var unleet = strings.NewReplacer("0", "o", "1", "l", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")

// lookalikes are letters of other scripts that look like Latin ones.
var lookalikes = map[rune]rune{'а': 'a', 'е': 'e', 'о': 'o', 'р': 'p', 'с': 'c', 'х': 'x', 'у': 'y', 'ѕ': 's', 'і': 'i', 'ј': 'j', 'ԁ': 'd', 'һ': 'h', 'ԝ': 'w', 'к': 'k', 'т': 't', 'п': 'n',
	'α': 'a', 'ο': 'o', 'ρ': 'p', 'ѵ': 'v', 'ν': 'v', 'ε': 'e', 'ι': 'i', 'κ': 'k', 'ᴏ': 'o', 'ꜱ': 's'}

// plainWords writes a text as lower-case words with single spaces between them:
// apiKey, API_KEY and "API-key" all become "api key". What cannot be seen is
// left out, and letters that only look Latin become Latin, unless the whole
// text is of another script.
func plainWords(s string) string {
	latin := strings.IndexFunc(s, func(r rune) bool { return r < 0x80 && unicode.IsLetter(r) }) >= 0
	var b strings.Builder
	space, lower := true, false
	for _, r := range s {
		if r >= 0xFF01 && r <= 0xFF5E { // full width
			r -= 0xFEE0
		}
		if like, ok := lookalikes[unicode.ToLower(r)]; ok && latin {
			r = like
		}
		switch {
		case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r):
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			if !space {
				b.WriteByte(' ')
			}
			space, lower = true, false
			continue
		case unicode.IsUpper(r) && lower:
			b.WriteByte(' ')
		}
		lower, space = unicode.IsLower(r) || unicode.IsDigit(r), false
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.TrimSpace(b.String())
}
