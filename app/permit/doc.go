// Package permit decides which tool calls may be made: by the rules of the
// configuration, by what the person has answered before, and, where neither
// says anything, by asking.
//
// What a server says about its own tools is never a permission. Its annotations
// can make a question louder; they let a call pass only for servers that the
// person has said to trust. And an approval counts for the definition that was
// approved: a tool whose description, schema or annotations have changed since
// is asked about again, with the difference shown.
//
// The way of one question:
//
//	deny rule                 no, and the model does not see the tool
//	changed since approved    ask, with the changes
//	never / always / session  what the person has said
//	allow rule                yes
//	trusted and read-only     yes
//	otherwise                 ask
package permit
