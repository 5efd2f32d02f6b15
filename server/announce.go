package server

import "github.com/tenon-mcp/tenon/mcp"

// ResourceListChanged announces that the list of resources has changed, for
// servers whose list is made by middleware. What [Server.AddResource] and the
// like do is announced by itself. It is heard by those who may see a template.
func (s *Server) ResourceListChanged() {
	var names []string
	for _, it := range s.templates.all() {
		names = append(names, it.name)
	}
	s.changes.changed(mcp.NotificationResourcesListChanged, KindTemplate, names...)
}
