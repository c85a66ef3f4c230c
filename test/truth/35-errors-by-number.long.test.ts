import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { errnoOf } from "../../src/core/values/errors.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { canMount, inMountSpace } from "../helpers/trouble.ts";

/**
 * Errors that Node knows only by number: EDQUOT (122), EUCLEAN (117) and similar ones. strace makes system calls of
 * real processes return them.
 */

const canTrace = spawnSync("strace", ["-o", "/dev/null", "true"], { stdio: "ignore" }).status === 0;

/**
 * `failing CALLS ERROR PATH… -- ARGUMENTS` runs chronicle with ARGUMENTS. There, CALLS on each PATH fail with ERROR.
 */
const FAILING = `
  export CHRONICLE_HOME=$PWD/s; mkdir p
  failing() {
    local what=$1 error=$2 paths=(); shift 2
    while [ "$1" != -- ]; do paths+=(-P "$1"); shift; done; shift
    strace -f -qq -o /dev/null "\${paths[@]}" -e trace="$what" -e inject="$what":error="$error" "${process.execPath}" "${chronicleBin()}" "$@"
  }
  fails() { set +e; "$@" > out 2> err; code=$?; set -e; cat out | tr -d '\\n'; echo; test $code -eq 1; }
`;

interface Told {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly data: { readonly errno?: string };
}

/** Returns the error of each JSON line of a script's output. */
function told(said: string): Told[] {
  const lines = said.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => (JSON.parse(line) as { error: Told }).error);
}

const OF_THE_LOG = [
  ["EDQUOT", "disk quota exceeded", "within your quota"],
  ["EUCLEAN", "structure needs cleaning", "fsck"],
  ["EBADMSG", "bad message", "fsck"],
  ["ESTALE", "stale file handle", "mount it again"],
  ["EIO", "i/o error", "check it"],
] as const;

describe.skipIf(!canTrace)("Truth 35: an error without a name in Node (needs strace)", () => {
  it("of the log is reported by its name, with what to do", () => {
    const errors = told(
      inMountSpace(`${FAILING}
        echo one > p/a; chronicle -C p init > /dev/null; echo two > p/a
        for error in ${OF_THE_LOG.map(([errno]) => errno).join(" ")}; do
          fails failing write $error "$(ls "$PWD"/s/workspaces/*/events.wal)" -- -C p snapshot --json
        done`),
    );
    expect(errors).toHaveLength(OF_THE_LOG.length);
    for (const [i, [errno, words, next]] of OF_THE_LOG.entries()) {
      expect.soft(errors[i]).toMatchObject({ code: "IO", data: { errno } });
      expect.soft(errors[i]?.message).toContain(`${errno}: ${words}`);
      expect.soft(errors[i]?.hint).toContain(next);
    }
  });

  it("that ends a thread of a first capture is reported by its name, with what to do", () => {
    const [error] = told(
      inMountSpace(`${FAILING}
        for i in $(seq 3000); do echo "content of file $i" > p/$i; done
        fails failing pwrite64,write EDQUOT "$PWD"/s/blobs/packs/active/{0,1,2,3}.pack -- -C p init --json`),
    );
    expect(error).toMatchObject({ code: "IO", data: { errno: "EDQUOT" } });
    expect(error?.hint).toContain("within your quota");
  });

  it("of a user's file is reported with that file, and the other files are recorded", () => {
    const said = inMountSpace(`${FAILING}
      echo one > p/a; echo one > p/b; chronicle -C p init > /dev/null; echo two > p/a; echo two > p/b
      set +e; failing read,pread64 EUCLEAN "$PWD/p/a" -- -C p snapshot > out 2>&1; code=$?; set -e
      cat out; test $code -eq 1; chronicle -C p history b`);
    expect(said).toMatch(/\ba\b.*EUCLEAN/);
    expect(said).not.toContain("bug in Chronicle");
    expect(said).toMatch(/\b2\b/);
  });

  it("of a call by SQLite is reported with SQLite's own error code", () => {
    const [error] = told(
      inMountSpace(`${FAILING}
        echo one > p/a; chronicle -C p init > /dev/null; echo two > p/a
        fails failing openat EDQUOT "$(ls -d "$PWD"/s/workspaces/*)"/lock.db -- -C p snapshot --json`),
    );
    expect(error).toMatchObject({ code: "IO" });
    expect(error?.message).toContain("SQLITE_CANTOPEN");
    expect(error?.hint).toContain("check the disk");
  });
});

const OPEN_INDEX = `
  import { openSqliteIndexStore } from ${JSON.stringify(new URL("../../src/storage/sqlite/sqlite-index-store.ts", import.meta.url).href)};
  import { NodeDisk } from ${JSON.stringify(new URL("../../src/disk/node-disk.ts", import.meta.url).href)};
  try { openSqliteIndexStore(process.cwd() + "/s/index.db", new NodeDisk()); } catch (error) {
    const { code, message, hint, data } = error; console.log(JSON.stringify({ error: { code, message, hint, data } })); }`;

describe.skipIf(!canMount)("Truth 35: a derived file on a full disk (needs a mount of its own)", () => {
  it("is reported as derived, with the system's error and with what to do", () => {
    const [error] = told(
      inMountSpace(`
        mkdir s; mount -t tmpfs -o size=64k none s; dd if=/dev/zero of=s/filler bs=4k 2>/dev/null || true
        "${process.execPath}" --input-type=module -e '${OPEN_INDEX}'`),
    );
    expect(error).toMatchObject({ code: "IO", data: { errno: "ENOSPC" } });
    expect(error?.message).toMatch(/index\.db: .*SQLITE_\w+.*ENOSPC/);
    expect(error?.hint).toMatch(/derived.*free some space/);
  });
});

it("Truth 35: errnoOf derives the name of an error from its number if Node has no name for it", () => {
  const ofFile = Object.assign(new Error("UNKNOWN: unknown error, read"), { code: "UNKNOWN", errno: -999 });
  expect(errnoOf(ofFile)).toBe("E999");
  const other = Object.assign(new Error("Unknown system error -122"), { code: "Unknown system error -122" });
  expect(errnoOf(other)).toBe("EDQUOT");
});
