// Release builds everything that a release of Tenon consists of, into a folder:
// archives for six platforms, packages for Debian and Red Hat, bundles of the
// builtin servers, an SBOM for each program, and the checksums of all of them.
//
//	go run . -out ../../dist
//
// The programs are built from the files of the commit, not from those of the
// checkout. All of it is made twice, from copies of the commit in different
// folders and the second time with an empty build cache, and must be the same to
// the byte.
//
// The flow is in release.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

func main() {
	var o options
	platforms := flag.String("platforms", strings.Join(allPlatforms, ","), "the `platforms` to build for")
	flag.StringVar(&o.repository, "repository", "../..", "the `folder` with the repository")
	flag.StringVar(&o.out, "out", "../../dist", "the `folder` to write to; it is emptied first")
	flag.StringVar(&o.version, "version", "", "the `version`, such as v1.2.3 (default: the tag of the commit, or one that Go makes of its time)")
	flag.BoolVar(&o.once, "once", false, "do not build a second time to compare")
	flag.BoolVar(&o.warm, "warm", false, "use the build cache for the second build, too")
	flag.BoolVar(&o.dirty, "dirty", false, "build although the checkout has changes, which are left out")
	flag.Parse()
	o.platforms = strings.Split(*platforms, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := release(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}
