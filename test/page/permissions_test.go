package page

import (
	"strings"
	"testing"
)

// The permissions of the chat are listed by scope. Remove must be pressed twice, and
// then the call is asked about again.
func TestPermissions(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	p := open(t, h.address(), desk)
	p.chatUntilAsked("add 20 and 22")
	p.clickText("Allow for this session")
	p.until(`document.querySelector('.card .pairs dd')`)
	p.until(sendIsShown)
	p.clickText("Permissions")
	p.until(`document.activeElement.innerText === 'Permissions'`)
	const rules = `[...document.querySelectorAll('.rules li')]`
	p.until(rules + `.some((e) => e.innerText.includes('calc/add') && e.innerText.includes('your answer'))`)
	for _, l := range []screen{desk, night, phone} {
		p.resize(l)
		p.accessible(axe(t), "permissions", l)
	}
	p.resize(desk)
	all := eval[string](p, `document.querySelector('.side-panel').innerText`)
	for _, want := range []string{"This session", "Allow", "Without a rule", "Ask about", "all tools that nothing above decides"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in %s", want, all)
		}
	}
	if n := eval[int](p, `document.querySelectorAll('.rules button').length`); n != 1 {
		t.Errorf("%d rules can be removed", n)
	}
	p.clickText("Remove")
	p.until(`document.querySelector('.rules button').innerText === 'Remove now'`)
	if !eval[bool](p, rules+`.some((e) => e.innerText.includes('calc/add'))`) {
		t.Error("it is removed at once")
	}
	p.clickText("Remove now")
	p.until(`!` + rules + `.some((e) => e.innerText.includes('calc/add'))`)
	p.say("add 1 and 2")
	p.sees("Allow this call?")
}
