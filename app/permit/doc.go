// Package permit decides which tool calls may be made: by the rules of the
// configuration, by what the person has answered before, and, where neither
// says anything, by asking.
//
// What a server says about its own tools is never a permission. Its annotations
// can make a question louder; they let a call pass only for servers that the
// person has said to trust. And an approval counts for the definition that was
// approved, on the server as it was: a tool whose description, schema or
// annotations have changed since, or whose server has become another program,
// address or entry, is asked about again, with the difference shown. The model
// does not get a changed definition before that.
//
// The way of one question:
//
//	deny rule, always deny    no, and the model does not see the tool
//	--allow                   yes, with a warning if something has changed
//	changed since approved    ask, with the changes
//	ask rule                  ask
//	always allow, session     yes
//	allow rule                yes
//	trusted and read-only     yes
//	otherwise                 ask
package permit
