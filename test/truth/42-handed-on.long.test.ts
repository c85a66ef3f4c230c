/** The command gets open descriptors, arguments and variables, byte for byte, as Chronicle's caller handed them on. */
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/index.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { Sandbox } from "../cli/sandbox.ts";

const IS_LINUX = process.platform === "linux";

/**
 * Runs a shell script in which `C` stands for Chronicle's words, from the source. Returns what it printed, as bytes.
 */
function shell(box: Sandbox, script: string | Buffer, words = box.command): { code: number | null; out: Buffer } {
  const file = join(box.folder, "script.sh");
  writeFileSync(file, Buffer.concat([Buffer.from(`C="${words.join(" ")}"\n`), Buffer.from(script)]));
  const ran = spawnSync("bash", [file], { cwd: box.project, env: box.env(), stdio: ["ignore", "pipe", "pipe"] });
  if (ran.error !== undefined) throw ran.error;
  return { code: ran.status, out: ran.stdout };
}

const byte = (text: string): Buffer => Buffer.from(text, "latin1");

describe.skipIf(!IS_LINUX)("descriptors (of a system with /proc)", () => {
  it("a command reads and writes the files that its caller has opened", () => {
    using box = new Sandbox();
    box.write("in", "from the caller\n");
    for (const more of ["", "--otr"]) {
      const { code, out } = shell(
        box,
        `exec 7>>log 8<in 9<>both; exec 30>>high; $C run ${more} -- bash -c 'cat <&8; echo seven >&7; echo nine >&9; echo high >&30'`,
      );
      expect([code, out.toString()]).toEqual([0, "from the caller\n"]);
    }
    expect(readFileSync(join(box.project, "log"), "utf8")).toBe("seven\nseven\n");
    expect(readFileSync(join(box.project, "both"), "utf8")).toBe("nine\n");
    expect(readFileSync(join(box.project, "high"), "utf8")).toBe("high\nhigh\n");
  });

  it("a command has exactly the descriptors that it has without Chronicle, from the source and installed", () => {
    using box = new Sandbox();
    const list = "sh -c 'ls /proc/$$/fd; readlink /proc/$$/fd/[3-9] | grep -v pipe:'";
    const open = "exec 4>four 6</dev/null 5<four; exec 40</dev/null; ";
    for (const program of [join(import.meta.dirname, "../../src/cli/main.ts"), chronicleBin()]) {
      const words = [process.execPath, program];
      const without = shell(box, `${open} ${list} 3< <(:)`, words);
      const within = shell(box, `${open} $C run -- ${list} 3< <(:)`, words);
      expect(within.out.toString()).toBe(without.out.toString());
      expect(within.out.toString()).toContain("/project/four\n");
    }
  });

  it("pipes are handed on if the caller has both ends, whatever their numbers, and Node's own are not", () => {
    using box = new Sandbox();
    const caller = join(box.folder, "caller.py");
    writeFileSync(
      caller,
      `
import os, subprocess, sys
r, w = os.pipe()
os.write(w, b"token")
for at in (3, 5, 6, 9):
    numbers = (at, at + 1)
    for fd, number in zip((r, w), numbers): os.dup2(fd, number + 40); os.set_inheritable(number + 40, True)
    script = 'ls -l /proc/$$/fd | grep -c "pipe:.%d."' % os.fstat(r).st_ino
    move = "exec %d<&%d %d>&%d %d<&- %d>&-; " % (at, at + 40, at + 1, at + 41, at + 40, at + 41)
    done = subprocess.run(["bash", "-c", move + 'exec "$@"', "bash", *sys.argv[1:], "sh", "-c", script], pass_fds=(at + 40, at + 41), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    print(done.stdout.decode().strip(), end=" ")
`,
    );
    const python = (...words: readonly string[]) =>
      spawnSync("python3", [caller, ...words], { cwd: box.project, env: box.env(), encoding: "utf8" }).stdout;
    expect(python(...box.command, "run", "--otr", "--")).toBe("2 ".repeat(4));
  });

  it("make hands its job tokens on", (context) => {
    if (spawnSync("make", ["--version"]).error !== undefined) return context.skip("make is not installed");
    using box = new Sandbox();
    // Each of three jobs waits for the other two, so they succeed only if all of them run at once.
    const wait = "touch m$@; for i in `seq 200`; do [ -e m1 -a -e m2 -a -e m3 ] && exit 0; sleep 0.05; done; exit 1";
    box.write("inner.mk", `all: 1 2 3\n1 2 3:\n\t@${wait.replaceAll("$@", "$@")}\n`);
    box.write("Makefile", `all:\n\t+@${box.command.join(" ")} run -- $(MAKE) -f inner.mk\n`);
    const ran = spawnSync("make", ["-j3"], { cwd: box.project, env: box.env(), encoding: "utf8" });
    expect([ran.status, ran.stderr.includes("jobserver")]).toEqual([0, false]);
    expect(readdirSync(box.project).filter((name) => /^m\d$/.test(name))).toEqual(["m1", "m2", "m3"]);
    return undefined;
  });

  it("the library hands on the descriptors that it is given", async () => {
    using box = new Sandbox();
    box.write("out", "");
    const store = await openStore({ home: box.store, configFolder: join(box.folder, "config") });
    const workspace = await store.open({ folder: box.project, create: true });
    const fd = openSync(join(box.project, "out"), "w");
    try {
      await workspace.run({ command: ["sh", "-c", `echo it > /dev/fd/${fd}`], descriptors: [fd] });
    } finally {
      closeSync(fd);
      await store.close();
    }
    expect(readFileSync(join(box.project, "out"), "utf8")).toBe("it\n");
  });
});

describe.skipIf(!IS_LINUX)("bytes that are not UTF-8 (on a system with /proc)", () => {
  const NAME = byte("caf\xe9 $(id)'\"\\0101%s*.txt");

  it("rm and cp get the very bytes of a name", async () => {
    using box = new Sandbox();
    const file = Buffer.concat([byte(`${box.project}/`), NAME]);
    for (const more of ["", "--otr"]) {
      writeFileSync(file, "x");
      const quoted = Buffer.concat([byte(`"caf`), byte("\xe9"), byte(` \\$(id)'\\"\\\\0101%s*.txt"`)]);
      const make = Buffer.concat([byte(`$C run ${more} -- cp -- `), quoted, byte(" "), byte("caf\xe8\n")]);
      expect(shell(box, make).code).toBe(0);
      expect(readdirSync(box.project, "buffer").map((name) => name.toString("latin1"))).toEqual([
        "caf\xe8",
        NAME.toString("latin1"),
      ]);
      const remove = Buffer.concat([byte(`$C run ${more} -- rm -- `), quoted, byte(" caf\xe8\n")]);
      expect(shell(box, remove).code).toBe(0);
      expect(readdirSync(box.project)).toEqual([]);
    }
  });

  it("each argument arrives unchanged: control bytes, newlines at the end, an empty one, the genuine U+FFFD", () => {
    using box = new Sandbox();
    const words = [
      byte("\xff"),
      byte("a\n\xfe\n\n"),
      byte(""),
      byte("%s\\n"),
      byte("=x"),
      Buffer.from("\uFFFD ä"),
      byte(Array.from({ length: 255 }, (_, i) => String.fromCharCode(i + 1)).join("")),
    ];
    const quoted = words.map((word) => `'${word.toString("latin1").replaceAll("'", `'\\''`)}'`).join(" ");
    const { code, out } = shell(box, byte(`$C run -- printf '%s\\0' ${quoted}\n`));
    expect(code).toBe(0);
    expect(out.toString("latin1")).toBe(words.map((word) => `${word.toString("latin1")}\0`).join(""));
  });

  it("variables arrive unchanged, under any name, beside those that Chronicle adds", () => {
    using box = new Sandbox();
    const odd = "'VALUE=caf\xe9' 'N\xffME=z' 'DOT.TED=1' 'PLAIN=ä' 'CHRONICLE_ROLE=\xff'";
    const read = (words: string) =>
      shell(box, byte(`env ${odd} ${words} env -0\n`))
        .out.toString("latin1")
        .split("\0")
        .filter((one) => one !== "")
        .toSorted();
    const without = read("").filter((one) => !one.startsWith("CHRONICLE_ROLE"));
    const within = read("$C run --");
    const added = within.filter((one) => !without.includes(one));
    expect(without.filter((one) => !within.includes(one))).toEqual([]);
    expect(added.map((one) => one.replace(/=.{36}$/, "=<id>"))).toEqual(["CHRONICLE_ROLE=agent", "CHRONICLE_RUN=<id>"]);
  });

  it("a program is started, or fails with the exit code, as in a shell, also if its name looks like a variable", () => {
    using box = new Sandbox();
    box.write("a=b", "#!/bin/sh\nprintf '%s' \"$1\"\n");
    box.sh("chmod +x a=b");
    expect(shell(box, byte("PATH=.:$PATH $C run -- a=b '\xe9'\n")).out.toString("latin1")).toBe("\xe9");
    expect(shell(box, byte("$C run -- ./no-such-\xe9\n")).code).toBe(127);
    box.write("plain", "x");
    expect(shell(box, byte("$C run -- ./plain '\xe9'\n")).code).toBe(126);
    expect(shell(box, byte("$C run -- sh -c 'kill -9 $$' '\xe9'\n")).code).toBe(137);
  });

  it("the library runs the bytes that it is given", async () => {
    using box = new Sandbox();
    const store = await openStore({ home: box.store, configFolder: join(box.folder, "config") });
    try {
      const workspace = await store.open({ folder: box.project, create: true });
      const command = ["touch", "caf\uFFFD"];
      await workspace.run({ command, bytes: { command: [byte("touch"), byte("caf\xe9")] } });
    } finally {
      await store.close();
    }
    expect(existsSync(Buffer.concat([byte(`${box.project}/`), byte("caf\xe9")]))).toBe(true);
  });
});
