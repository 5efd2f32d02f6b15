#!/bin/sh
# Checks the files of a release with programs of others: installs and removes the
# .deb in a clean Debian, reads the .rpm with rpm, the bundles with mcpb, and the
# manual pages with groff. Needs root and the network; takes a few minutes.
set -eu
dist=$(cd "${1:-dist}" && pwd)
[ "$(id -u)" = 0 ] || { echo "release-check needs root: it makes a Debian in a folder"; exit 1; }
arch=$(dpkg --print-architecture)
deb=$(ls "$dist"/tenon_*_"$arch".deb)
want=""
command -v debootstrap >/dev/null || want="$want debootstrap"
command -v rpm >/dev/null || want="$want rpm"
command -v groff >/dev/null || want="$want groff-base"
if [ -n "$want" ]; then
	export DEBIAN_FRONTEND=noninteractive
	# shellcheck disable=SC2086
	apt-get install -y -q --no-install-recommends $want >/dev/null
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

echo "== checksums"
(cd "$dist" && sha256sum --quiet -c SHA256SUMS)

echo "== $(basename "$deb") in a clean Debian"
mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[.*\] \)*\(http[^ ]*\).*/\2/p' /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null | head -n 1 || true)
debootstrap --variant=minbase bookworm root "${mirror:-http://deb.debian.org/debian}" >debootstrap.log 2>&1 || { tail -n 5 debootstrap.log; exit 1; }
files() { (cd root && find . -xdev \( -path ./proc -o -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache \) -prune -o -print | sort); }
files >before
cp "$deb" root/tenon.deb
chroot root dpkg -i /tenon.deb >install.log 2>&1 || { cat install.log; exit 1; }
chroot root tenon version
[ "$(chroot root tenon call builtin:calc add a=20 b=22)" = 42 ] || { echo "the installed program does not work"; exit 1; }
chroot root test -s /usr/share/doc/tenon/copyright
chroot root test -s /usr/share/bash-completion/completions/tenon
# minbase leaves out manual pages only if dpkg is told to; look into the package
dpkg-deb -c "$deb" | grep 'usr/share/man/man1/tenon-call.1.gz' >/dev/null
chroot root dpkg -V tenon
chroot root dpkg --purge tenon >remove.log 2>&1 || { cat remove.log; exit 1; }
rm root/tenon.deb
# what the run itself left in the home folder of root is not of the package
rm -rf root/root/.config root/root/.local root/root/.cache
files >after
diff before after || { echo "removing the package left files behind"; exit 1; }
echo "installed, run, verified and removed; nothing is left"

echo "== .rpm"
for rpm in "$dist"/*.rpm; do
	rpm -K --nosignature "$rpm" >/dev/null
	[ "$(rpm -qp --nosignature --qf '%{NAME} %{LICENSE}' "$rpm" 2>/dev/null)" = "tenon Apache-2.0" ]
	rpm -qpl --nosignature "$rpm" 2>/dev/null | grep '^/usr/bin/tenon$' >/dev/null
	echo "$(basename "$rpm"): digests are right"
done

echo "== manual pages"
mkdir pages
dpkg-deb -x "$deb" pages
for page in pages/usr/share/man/man1/*.gz; do
	said=$(gzip -dc "$page" | groff -K utf8 -man -Tutf8 -ww 2>&1 >/dev/null || true)
	[ -z "$said" ] || { echo "$(basename "$page"): $said"; exit 1; }
done
echo "$(ls pages/usr/share/man/man1 | wc -l) pages, no warning of groff"

echo "== bundles"
if command -v npm >/dev/null; then
	npm install --silent --no-audit --no-fund --prefix "$work/npm" @anthropic-ai/mcpb >npm.log 2>&1 || { cat npm.log; exit 1; }
	for bundle in "$dist"/*_linux_"$arch".mcpb "$dist"/*_darwin_arm64.mcpb "$dist"/*_windows_amd64.mcpb; do
		[ -f "$bundle" ] || continue
		rm -rf bundle && mkdir bundle
		"$work/npm/node_modules/.bin/mcpb" unpack "$bundle" bundle >unpack.log 2>&1 || { cat unpack.log; exit 1; }
		"$work/npm/node_modules/.bin/mcpb" validate bundle/manifest.json >validate.log 2>&1 || { cat validate.log; exit 1; }
		echo "$(basename "$bundle"): valid"
	done
else
	echo "left out: there is no npm"
fi
echo "== release-check: all green"
