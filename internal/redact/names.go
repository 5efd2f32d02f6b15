package redact

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// secretNames are names of secrets, joined and in the singular. A name that ends
// with one of them is secret; see Name.
var secretNames = setOf(`
	password passwd pwd passphrase passcode passwort kennwort motdepasse contraseña contrasena senha wachtwoord пароль 密码 密碼 パスワード 비밀번호
	secret clientsecret geheimnis credential token jwt bearer authorization cookie
	apikey accesskey secretkey privatekey encryptionkey signingkey sshkey pgpkey gpgkey masterkey licensekey accountkey recoverykey servicekey sharedkey authkey walletkey storagekey
	cardnumber cardno cardnum creditcard debitcard bankcard paymentcard ccnumber ccnum ccno cvv cvv2 cvc cvc2 securitycode
	pin pincode pinnumber otp totp onetimepassword onetimecode verificationcode mfacode 2facode
	ssn socialsecurity socialsecuritynumber seedphrase mnemonic recoveryphrase recoverycode
	dsn connectionstring clientassertion`)

// settingNames are also secret in environment variables, headers, flags and URL
// parameters. In a document they are ordinary words.
var settingNames = setOf("key auth pass pat sig signature session sessionid assertion private sas")

// endings are names that are also secret as the end of a word, as in
// "githubtoken".
var endings = []string{"password", "passwd", "passphrase", "secret", "apikey", "token", "credential", "privatekey", "secretkey", "accesskey"}

// fillers may follow the name of a secret: "password_confirm".
var fillers = setOf("value string text plain plaintext raw base64 b64 hex pem header confirm confirmation again repeat new old current hash prod production dev test live")

// publicTokens precede "token" in names that are not secret: a page token, the
// progress token of MCP, the tokens of a model.
var publicTokens = []string{"progress", "page", "next", "prev", "previous", "continuation", "continue", "sync", "cursor", "resume", "pagination", "delta", "change", "start", "stop", "end", "eos", "bos", "eot", "pad", "unk", "mask", "sep", "cls", "special", "per", "unexpected", "cancel", "cancellation", "idempotency"}

// properties follow the name of a secret in names that are not secret.
var properties = setOf(`count counts limit limits type types name names url uri endpoint endpoints path file dir folder id ids ttl expiry expires expiration at size length max min budget policy hint prefix
	parallelism provider store env var variable field enabled required timeout issuer audience scope scopes algorithm alg format usage version mode manager rotation sock socket command cmd helper host port`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// Name reports whether a member, an argument or a field with this name is a
// secret. Case, separators and prefixes do not matter: api_key, apiKey, API-KEY
// and OPENAI_API_KEY are secrets; token_count, max_tokens and tokenizer are not.
func Name(name string) bool { return secretName(name, false) }

// Setting reports whether an environment variable, a header, a flag or a URL
// parameter with this name is a secret. It knows more names than [Name].
func Setting(name string) bool {
	switch name {
	case "PWD", "OLDPWD", "INIT_CWD": // folders
		return false
	}
	return secretName(name, true)
}

func secretName(name string, setting bool) bool {
	if name == "" || len(name) > 200 {
		return false
	}
	if secretNameWords(strings.Fields(plainWords(name)), setting) {
		return true
	}
	return strings.ContainsAny(name, "013457@$!") && secretNameWords(strings.Fields(plainWords(unleet.Replace(strings.ToLower(name)))), setting)
}

func secretNameWords(words []string, setting bool) bool {
	if setting && startsWithSecret(words) {
		return true
	}
	if ends(words, setting) {
		return true
	}
	for len(words) > 1 && (fillers[words[len(words)-1]] || strings.Trim(words[len(words)-1], "v0123456789") == "") {
		words = words[:len(words)-1]
	}
	return ends(words, setting)
}

// ends reports whether the last of some words, up to four, name a secret.
func ends(words []string, setting bool) bool {
	n := len(words)
	if n == 0 {
		return false
	}
	last := strings.TrimRight(words[n-1], "0123456789")
	if last == "" || last == "cvv" || last == "cvc" {
		last = words[n-1]
	}
	if last == "token" {
		return n == 1 || !slices.Contains(publicTokens, words[n-2])
	}
	joined := last
	for i := n - 1; ; i-- { // "key", "api key", "x api key"
		if secretNames[joined] || secretNames[singular(joined)] || setting && settingNames[joined] {
			return true
		}
		if i == 0 || n-i == 4 {
			break
		}
		joined = words[i-1] + joined
	}
	return hasEnding(last)
}

// hasEnding reports whether a word ends with one of endings.
func hasEnding(word string) bool {
	for _, e := range endings {
		before, ok := strings.CutSuffix(singular(word), e)
		if !ok || before == "" {
			continue
		}
		return e != "token" || !slices.ContainsFunc(publicTokens, func(p string) bool { return strings.HasSuffix(before, p) })
	}
	return false
}

// startsWithSecret reports whether words are a name such as TOKEN_GITHUB.
func startsWithSecret(words []string) bool {
	for i, w := range words[:max(0, len(words)-1)] {
		switch w {
		case "token", "secret", "password", "passwd", "apikey":
			if slices.ContainsFunc(words[i+1:], func(w string) bool { return properties[w] }) {
				return false
			}
			return w != "token" || i == 0 || !slices.Contains(publicTokens, words[i-1])
		}
	}
	return false
}

// singular returns a word without its plural s; "tokens" are those of a model.
func singular(word string) string {
	if word == "tokens" || word == "pins" || strings.HasSuffix(word, "tokens") || strings.HasSuffix(word, "pass") {
		return word
	}
	return strings.TrimSuffix(word, "s")
}

// secretWords matches the names of secrets in the result of plainWords.
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

// Mentions reports whether a text such as the title of a field or the message of a
// form mentions a secret. It is for warnings and prefers false positives.
func Mentions(text string) bool {
	return secretWords().MatchString(plainWords(text)) || secretWords().MatchString(plainWords(unleet.Replace(strings.ToLower(text))))
}

// unleet replaces digits and signs that are used as letters.
var unleet = strings.NewReplacer("0", "o", "1", "l", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")

// lookalikes are letters of other scripts that look like Latin ones.
var lookalikes = map[rune]rune{'а': 'a', 'е': 'e', 'о': 'o', 'р': 'p', 'с': 'c', 'х': 'x', 'у': 'y', 'ѕ': 's', 'і': 'i', 'ј': 'j', 'ԁ': 'd', 'һ': 'h', 'ԝ': 'w', 'к': 'k', 'т': 't', 'п': 'n',
	'α': 'a', 'ο': 'o', 'ρ': 'p', 'ѵ': 'v', 'ν': 'v', 'ε': 'e', 'ι': 'i', 'κ': 'k', 'ᴏ': 'o', 'ꜱ': 's'}

// plainWords returns a text as lower-case words with single spaces: apiKey,
// API_KEY and "API-key" all become "api key". It removes invisible characters and
// replaces letters that look Latin, unless the text has no Latin letter.
func plainWords(s string) string {
	latin := strings.IndexFunc(s, func(r rune) bool { return r < 0x80 && unicode.IsLetter(r) }) >= 0
	var b strings.Builder
	space, lower := true, false
	for _, r := range s {
		if r >= 0xFF01 && r <= 0xFF5E { // full width
			r -= 0xFEE0
		}
		if r >= 0x80 && latin {
			if like, ok := lookalikes[unicode.ToLower(r)]; ok {
				r = like
			}
		}
		switch {
		case r >= 0x80 && (unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r)):
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
