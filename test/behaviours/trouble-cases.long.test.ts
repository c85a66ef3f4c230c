import { describe, it } from "vitest";
import { canMount, inMountSpace } from "../helpers/trouble.ts";

/**
 * Runs the installed command line on full and read-only disks (in a mount namespace of its own) and with too few
 * descriptors: the rows R6, W21 and W23 of `failure-cases.test.ts`. Nothing acknowledged is lost, the user's files are
 * changed entirely or not at all, and everything works again once the fault is over.
 */

/**
 * Shell functions:
 * - `fill`, `free`: fill the file system of a folder to the last byte, and empty it again.
 * - `loud`: runs a command that must fail with a message of Chronicle, and without a stack trace.
 * - `sums`, `same`: hash all files of a folder, and compare them with such hashes.
 */
const FILL = `
  fill() { dd if=/dev/zero of=$1/filler bs=64k 2>/dev/null || true; dd if=/dev/zero of=$1/filler2 bs=1 count=70000 2>/dev/null || true; }
  free() { rm -f $1/filler $1/filler2; }
  loud() { set +e; "$@" > out 2> err; code=$?; set -e; test $code -ne 0; grep -q '^chronicle: ' err; ! grep -qE '^ +at |Error:' err; }
  same() { (cd $1 && find . -type f ! -name 'filler*' | sort | xargs sha256sum) | diff - $2; }
  sums() { (cd $1 && find . -type f ! -name 'filler*' | sort | xargs sha256sum); }
`;

describe.skipIf(!canMount)("a full disk", () => {
  it("W21 W23 of the store: captures fail loudly, reading and verify work, and captures work again with free space", () => {
    inMountSpace(`${FILL}
      mkdir s p; mount -t tmpfs -o size=4m none s; export CHRONICLE_HOME=$PWD/s/store
      for i in $(seq 40); do head -c 3000 /dev/urandom > p/$i; done
      chronicle -C p init
      head=$(chronicle -C p head --json | tr -d '\\n'); echo "$head" > head.json
      sums p > before; fill s
      for i in $(seq 40); do head -c 30000 /dev/urandom > p/$i; done; sums p > edited
      loud chronicle -C p snapshot
      loud chronicle -C p restore baseline
      same p edited
      chronicle -C p log > /dev/null
      chronicle -C p cat 7 > seven; cmp <(grep ' ./7$' before | cut -c1-64) <(sha256sum < seven | cut -c1-64)
      chronicle -C p verify --expect "$PWD/head.json"
      chronicle -C p status > /dev/null
      free s
      chronicle -C p snapshot
      chronicle -C p restore baseline; same p before
      chronicle -C p undo; same p edited
      chronicle -C p verify --expect "$PWD/head.json"
    `);
  });

  it("W23 of a store that is opened with a torn tail: verify works, and the tail is repaired once there is free space", () => {
    inMountSpace(`${FILL}
      mkdir s p; mount -t tmpfs -o size=4m none s; export CHRONICLE_HOME=$PWD/s/store
      echo one > p/a; chronicle -C p init; echo two > p/a; chronicle -C p snapshot
      log=$(ls s/store/workspaces/*/events.wal); printf '{"hash":"torn' >> $log; cp $log torn.wal
      rm -f s/store/workspaces/*/index.db* s/store/blobs/index.db*
      fill s
      chronicle -C p verify
      chronicle -C p log > /dev/null
      test "$(chronicle -C p cat a)" = two
      echo three > p/a; loud chronicle -C p snapshot; cmp $log torn.wal
      free s
      chronicle -C p snapshot; chronicle -C p verify
      grep -q '"record_id":"recovery:' $log
    `);
  });

  it("R6 of the workspace: a restore changes nothing at all, and works once there is free space", () => {
    inMountSpace(`${FILL}
      mkdir p; mount -t tmpfs -o size=8m none p
      for i in $(seq 30); do head -c 100000 /dev/urandom > p/$i; done
      chronicle -C p init; sums p > before
      rm p/1* p/2*; echo small > p/3; sums p > edited
      fill p
      rm -f p/filler2; loud chronicle -C p restore baseline
      same p edited
      free p
      chronicle -C p restore baseline; same p before
      chronicle -C p undo; same p edited; chronicle -C p verify
    `);
  });

  it("R6 of the store alone: a restore on another device stages in the tracked folder, and removes the staging", () => {
    inMountSpace(`${FILL}
      mkdir p; mount -t tmpfs -o size=8m none p
      mkdir p/d; echo one > p/a; echo deep > p/d/b; chronicle -C p init; sums p > before
      rm -r p/d; echo two > p/a; echo new > p/c
      chronicle -C p restore baseline; same p before; test ! -e p/.chronicle-tmp
      chronicle -C p undo; test "$(cat p/c)" = new; test ! -e p/.chronicle-tmp
      chronicle -C p verify
    `);
  });

  it("W21 no inodes left: a capture fails loudly, verify works, and captures work again with free inodes", () => {
    inMountSpace(`${FILL}
      mkdir s p; mount -t tmpfs -o size=16m,nr_inodes=60 none s; export CHRONICLE_HOME=$PWD/s/store
      echo one > p/a; chronicle -C p init
      i=0; while touch s/inode$i 2>/dev/null; do i=$((i+1)); done
      echo two > p/a; head -c 9000000 /dev/urandom > p/large
      loud chronicle -C p snapshot
      chronicle -C p verify
      rm -f s/inode*
      chronicle -C p snapshot; chronicle -C p verify
    `);
  });
});

describe.skipIf(!canMount)("a read-only file system", () => {
  it("W21 of the store: reading works, and writing is refused with a message", () => {
    inMountSpace(`${FILL}
      mkdir s p; mount -t tmpfs -o size=16m none s; export CHRONICLE_HOME=$PWD/s/store
      echo one > p/a; chronicle -C p init; echo two > p/a; chronicle -C p snapshot; echo three > p/a
      mount -o remount,ro s
      chronicle -C p log > /dev/null
      chronicle -C p list > /dev/null
      test "$(chronicle -C p cat a@1)" = one
      chronicle -C p verify
      chronicle -C p status > /dev/null
      loud chronicle -C p snapshot
      loud chronicle -C p restore baseline
      loud chronicle -C p gc
      test "$(cat p/a)" = three
      mount -o remount,rw s
      chronicle -C p snapshot; chronicle -C p verify
    `);
  });

  it("W21 of the workspace: captures work, a restore is refused as a whole", () => {
    inMountSpace(`${FILL}
      mkdir p; mount -t tmpfs none p; echo one > p/a; echo b > p/b; chronicle -C p init; echo two > p/a; rm p/b
      mount -o remount,ro p
      chronicle -C p snapshot
      loud chronicle -C p restore baseline
      test "$(cat p/a)" = two; test ! -e p/b
      mount -o remount,rw p
      chronicle -C p restore baseline; test "$(cat p/a)$(cat p/b)" = oneb
      chronicle -C p verify
    `);
  });
});

describe("too few descriptors", () => {
  it("W21 EMFILE: a restore is done as a whole or not at all, and everything works again afterwards", () => {
    inMountSpace(`${FILL}
      mkdir -p p/d/e/f/g; for i in $(seq 30); do echo $i > p/d/e/f/g/$i; done
      chronicle -C p init; sums p > before
      for i in $(seq 30); do echo edited $i > p/d/e/f/g/$i; done; sums p > edited
      for n in 24 26 28 30 32 36 40 48; do
        ( ulimit -n $n; chronicle -C p snapshot > out 2> err || true )
        ( ulimit -n $n; chronicle -C p restore baseline > out 2> err || true )
        chronicle -C p run -- true > out 2> err
        same p before > /dev/null || same p edited
        chronicle -C p verify > out
        for i in $(seq 30); do echo edited $i > p/d/e/f/g/$i; done
      done
      chronicle -C p snapshot; chronicle -C p restore baseline; same p before
    `);
  });
});
