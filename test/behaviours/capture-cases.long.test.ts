import { execFileSync } from "node:child_process";
import {
  chmodSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  closeSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/core/values/hash.ts";
import { Project } from "../helpers/project.ts";
import { background, canMount, contentOf, inMountSpace, isRoot, isSound } from "../helpers/trouble.ts";

/** Failures while files are captured, on the real disk: the rows C1 to C19 of `failure-cases.test.ts`. */

describe("capture", () => {
  it("C1 symlinks are recorded as links and never followed, whatever their target", async () => {
    await using project = new Project();
    mkdirSync(join(project.base, "outside"));
    writeFileSync(join(project.base, "outside/secret"), "outside\n");
    project.write("file", "f");
    project.write("dir/inner", "i");
    const links = { a: "file", b: "dir", c: "nothing", d: join(project.base, "outside"), e: "e", f: ".." };
    for (const [name, target] of Object.entries(links)) project.link(name, target);
    const workspace = await project.init();
    const { files } = await workspace.manifest("baseline");
    for (const [name, target] of Object.entries(links)) {
      expect(files[name]).toMatchObject({ kind: "symlink", hash: sha256(target), size: target.length });
    }
    expect(Object.keys(files).filter((path) => path.includes("secret") || path.startsWith("b/"))).toEqual([]);
    const before = project.tree();
    for (const name of Object.keys(links)) project.remove(name);
    await workspace.restore("baseline");
    expect(project.tree()).toEqual(before);
    expect(readFileSync(join(project.base, "outside/secret"), "utf8")).toBe("outside\n");
  });

  it("C2 a file that keeps turning into a link, a FIFO and back never leads to reading the link's target", async () => {
    await using project = new Project();
    project.write("target", "inside\n");
    writeFileSync(join(project.base, "outside"), "SECRET OF ANOTHER\n");
    const workspace = await project.init();
    execFileSync("mkfifo", [project.at("fifo")]);
    {
      using _swapper = await background(
        `const [at, out, fifo] = args;
         for (let i = 0; ; i++) {
           attempt(() => { fs.symlinkSync(out, at + ".link"); fs.renameSync(at + ".link", at); });
           attempt(() => { fs.linkSync(fifo, at + ".f2"); fs.renameSync(at + ".f2", at); });
           fs.writeFileSync(at + ".new", "inside " + i + "\\n"); fs.renameSync(at + ".new", at);
         }`,
        project.at("target"),
        join(project.base, "outside"),
        project.at("fifo"),
      );
      for (let i = 0; i < 25; i += 1) await workspace.snapshot();
    }
    const recorded = await workspace.history("target");
    expect(recorded.length).toBeGreaterThan(1);
    for (const { iteration, kind } of recorded.filter((one) => one.deleted !== true)) {
      const content = (await contentOf(workspace, "target", iteration)).toString();
      if (kind === "file") expect(content).toMatch(/^inside/);
      else expect(content).toBe(join(project.base, "outside"));
    }
    expect(await isSound(workspace)).toEqual([]);
  });

  it("C3 FIFO, socket and device are listed as special and left out, and the capture stays complete", async () => {
    await using project = new Project();
    project.write("file", "f");
    execFileSync("mkfifo", [project.at("pipe")]);
    const server = createServer().listen(project.at("socket"));
    await new Promise((done) => server.once("listening", done));
    const special = ["pipe", "socket"];
    if (isRoot) {
      execFileSync("mknod", [project.at("device"), "c", "1", "5"]);
      special.push("device");
    }
    const workspace = await project.init();
    const { coverage } = await workspace.snapshot();
    server.close();
    expect(coverage.complete).toBe(true);
    expect(coverage.omitted.map((one) => `${one.path} ${one.reason}`).sort()).toEqual(
      special.map((name) => `${name} special`).sort(),
    );
    expect(Object.keys((await workspace.manifest("latest")).files)).toEqual(["file"]);
    project.write("file", "changed");
    await workspace.restore("baseline");
    expect(lstatSync(project.at("pipe")).isFIFO()).toBe(true);
  });

  it("C4 hard links are restored as files, and a restore never writes through one", async () => {
    await using project = new Project();
    project.write("a", "shared\n");
    linkSync(project.at("a"), project.at("b"));
    linkSync(project.at("a"), join(project.base, "outside"));
    const workspace = await project.init();
    writeFileSync(project.at("a"), "edited\n");
    expect(readFileSync(join(project.base, "outside"), "utf8")).toBe("edited\n");
    await workspace.restore("baseline");
    expect([project.read("a"), project.read("b")]).toEqual(["shared\n", "shared\n"]);
    expect(readFileSync(join(project.base, "outside"), "utf8")).toBe("edited\n");
    await workspace.undo();
    expect([project.read("a"), project.read("b")]).toEqual(["edited\n", "edited\n"]);
  });

  it("C5 a file that is written while it is read is reported as unstable, and every recorded hash has its bytes", async () => {
    await using project = new Project();
    project.write("busy", Buffer.alloc(3_000_000, "x"));
    project.write("calm", "calm\n");
    const workspace = await project.init();
    {
      using _writer = await background(
        `const fd = fs.openSync(args[0], "r+"); const b = Buffer.alloc(4096);
         for (let i = 0; ; i++) { b.fill(i & 255); fs.writeSync(fd, b, 0, b.length, (i * 4096) % 3000000); }`,
        project.at("busy"),
      );
      // On a busy machine, the writer may pause while the file is read. The file is not unstable then.
      let { coverage } = await workspace.snapshot();
      for (const end = Date.now() + 60_000; coverage.complete && Date.now() < end;)
        ({ coverage } = await workspace.snapshot());
      expect(coverage).toMatchObject({ complete: false, omitted: [{ path: "busy", reason: "unstable" }] });
    }
    for (const { iteration, hash } of await workspace.history("busy")) {
      expect(sha256(await contentOf(workspace, "busy", iteration))).toBe(hash);
    }
    expect((await workspace.snapshot()).coverage.complete).toBe(true);
    expect(sha256(await contentOf(workspace, "busy"))).toBe(sha256(readFileSync(project.at("busy"))));
    expect(await isSound(workspace)).toEqual([]);
  });

  it("C6 an edit of the same size and with the same time is captured, twenty times in a row", async () => {
    await using project = new Project();
    project.write("file", "0000");
    const workspace = await project.init();
    const time = statSync(project.at("file")).mtime;
    for (let i = 1; i <= 20; i += 1) {
      writeFileSync(project.at("file"), String(i).padStart(4, "0"));
      utimesSync(project.at("file"), time, time);
      await workspace.snapshot();
      expect((await contentOf(workspace, "file")).toString()).toBe(String(i).padStart(4, "0"));
    }
  });

  it("C6 an edit whose old time was put back is captured, also if the file had been unchanged for long", async () => {
    await using project = new Project();
    project.write("file", "0000");
    const past = new Date(Date.now() - 3_600_000);
    utimesSync(project.at("file"), past, past);
    const workspace = await project.init();
    await new Promise((resolve) => setTimeout(resolve, 2_200));
    await workspace.snapshot();
    await workspace.snapshot();
    writeFileSync(project.at("file"), "1111");
    utimesSync(project.at("file"), past, past);
    await workspace.snapshot();
    expect((await contentOf(workspace, "file")).toString()).toBe("1111");
  });

  it("C11 NFC and NFD twins and case twins are different files, also after a restore", async () => {
    await using project = new Project();
    const names = ["caf\u00e9", "cafe\u0301", "README", "readme", "\u212a", "k", "K"];
    for (const name of names) project.write(`d/${name}`, name);
    const workspace = await project.init();
    const before = project.tree();
    expect(Object.keys(before)).toHaveLength(names.length + 1);
    project.remove("d");
    await workspace.restore("baseline");
    expect(project.tree()).toEqual(before);
  });

  it("C8 a sparse file of 1 TiB is refused without being read, or omitted if it is over maxFileSize", async () => {
    await using project = new Project();
    project.write("small", "s");
    const fd = openSync(project.at("sparse"), "w");
    ftruncateSync(fd, 1024 ** 4);
    closeSync(fd);
    const began = performance.now();
    await expect(project.init()).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
    expect(performance.now() - began).toBeLessThan(5_000);
    const workspace = await project.init({ maxFileSize: 1_000_000 });
    const { coverage } = await workspace.snapshot();
    expect(coverage).toMatchObject({ complete: false, omitted: [{ path: "sparse", reason: "too-large" }] });
    const restored = await workspace.restore("baseline");
    expect(restored.skipped).toEqual([]);
    expect(statSync(project.at("sparse")).size).toBe(1024 ** 4);
  });

  it("C9 C10 names that are not UTF-8, or could be taken for something else, come back byte for byte", async () => {
    await using project = new Project();
    const bytes = (...parts: (string | number[])[]) => Buffer.concat(parts.map((part) => Buffer.from(part as string)));
    const names = [
      bytes("bad\xff"),
      bytes([0xff]),
      bytes([0xfe]),
      bytes([0xed, 0xa0, 0x80]),
      bytes("line\nbreak"),
      bytes("cr\rhere"),
      bytes("\u001b[31mred"),
      bytes("\u202egnp.exe"),
      bytes('quo"te'),
      bytes("back\\slash"),
      bytes("--force"),
      bytes("-rf"),
      bytes("#hash"),
      bytes("!bang"),
      bytes(" lead and trail "),
      bytes("*?[a]"),
      bytes("file:x"),
      bytes("@root:x"),
      bytes("\u2028"),
      bytes([1]),
      bytes("__proto__"),
      bytes("constructor"),
      bytes("a".repeat(255)),
    ];
    for (const name of names) writeFileSync(Buffer.concat([Buffer.from(`${project.folder}/`), name]), name);
    const workspace = await project.init();
    const before = project.tree();
    expect(Object.keys(before)).toHaveLength(names.length);
    const { files } = await workspace.manifest("baseline");
    expect(Object.keys(files)).toHaveLength(names.length);
    for (const name of names) unlinkSync(Buffer.concat([Buffer.from(`${project.folder}/`), name]));
    const { changes } = await workspace.restore("baseline");
    expect(changes).toHaveLength(names.length);
    expect(project.tree()).toEqual(before);
    const reopened = await project.open();
    expect((await reopened.status()).changes).toEqual([]);
    expect(await isSound(reopened)).toEqual([]);
  });

  it("C12 a path of more than 4096 bytes is captured, restored, undone", async () => {
    await using project = new Project();
    const sh = (script: string): string =>
      execFileSync("bash", ["-ec", script], { cwd: project.folder, encoding: "utf8" });
    const down = `for i in $(seq 30); do d=$(printf '%0200d' $i); mkdir -p $d; cd -P $d; done;`;
    sh(`${down} echo deep > leaf`);
    const workspace = await project.init();
    sh(`cd -P .; ${down} echo edited > leaf; echo more > second`);
    await workspace.snapshot();
    const restored = await workspace.restore("baseline");
    expect(restored.changes.map((one) => one.change_type).sort()).toEqual(["deleted", "modified"]);
    expect(sh(`${down} ls; cat leaf`)).toBe("leaf\ndeep\n");
    await workspace.undo();
    expect(sh(`${down} cat leaf second`)).toBe("edited\nmore\n");
    expect(await isSound(workspace)).toEqual([]);
    sh("rm -rf ./*");
    await workspace.restore("baseline");
    expect(sh(`${down} cat leaf`)).toBe("deep\n");
    sh("rm -rf ./*");
  });

  it("C13 empty and read-only folders and odd modes are restored, but set-id bits are not", async () => {
    await using project = new Project();
    mkdirSync(project.at("empty/nested"), { recursive: true });
    project.write("ro/file", "kept\n", 0o444);
    project.write("tool", "#!\n", 0o4755);
    project.write("none", "no rights\n", 0o000);
    mkdirSync(project.at("sticky"));
    chmodSync(project.at("sticky"), 0o1777);
    chmodSync(project.at("ro"), 0o555);
    const workspace = await project.init();
    const before = project.tree();
    chmodSync(project.at("ro"), 0o755);
    for (const name of ["empty", "ro", "tool", "none", "sticky"]) project.remove(name);
    const emptied = project.tree();
    await workspace.restore("baseline");
    const masked = { ...before, tool: before["tool"]?.replace("4755", "755") };
    expect(project.tree()).toEqual(masked);
    // The files are recorded as they are on disk, so status finds no changes, and undo works.
    expect((await workspace.status()).changes).toEqual([]);
    await workspace.undo();
    expect(project.tree()).toEqual(emptied);
    await workspace.redo();
    expect(project.tree()).toEqual(masked);
    const iterations = (await workspace.history("tool")).length;
    await workspace.snapshot({ paranoid: true });
    expect(await workspace.history("tool")).toHaveLength(iterations);
  });

  it("C15 files that come and go during captures are no error, and nothing that stays is lost", async () => {
    await using project = new Project();
    for (let i = 0; i < 300; i += 1) project.write(`stay/${i}`, `${i}`);
    const workspace = await project.init();
    {
      using _churn = await background(
        `const [at] = args;
         for (let i = 0; ; i++) {
           const d = at + "/come" + (i % 7); fs.mkdirSync(d, { recursive: true });
           fs.writeFileSync(d + "/f" + i, "x"); fs.rmSync(d, { recursive: true });
           fs.writeFileSync(at + "/stay/tmp", "t"); fs.unlinkSync(at + "/stay/tmp");
         }`,
        project.folder,
      );
      for (let i = 0; i < 15; i += 1) await workspace.snapshot();
    }
    await workspace.snapshot();
    const { files } = await workspace.manifest("latest");
    expect(Object.keys(files).filter((path) => /^stay\/\d+$/.test(path))).toHaveLength(300);
    expect((await workspace.log()).filter((one) => /^file:stay\/\d/.test(one.record_id))).toEqual([]);
    expect((await workspace.status()).changes).toEqual([]);
    expect(await isSound(workspace)).toEqual([]);
  });

  it("C16 a store inside the tracked folder is left out, under any name; the store itself is refused", async () => {
    await using project = new Project({ storeInside: true });
    project.write("file", "f");
    const workspace = await project.init();
    for (let i = 0; i < 3; i += 1) {
      project.write("file", `f${i}`);
      const { coverage } = await workspace.snapshot();
      expect(coverage).toMatchObject({ complete: true, omitted: [{ path: ".state", reason: "store" }] });
    }
    expect(Object.keys((await workspace.manifest("latest")).files)).toEqual(["file"]);
    await workspace.restore("baseline");
    expect(project.read("file")).toBe("f");
    expect(await isSound(workspace)).toEqual([]);
    await expect((await project.store()).init({ roots: [project.home] })).rejects.toMatchObject({ code: "UNSAFE" });
    await expect((await project.store()).init({ roots: [join(project.home, "blobs")] })).rejects.toMatchObject({
      code: "UNSAFE",
    });
  });

  it("C16 a workspace within a workspace: each has its own history, and the nearest one is used", async () => {
    await using project = new Project();
    project.write("outer.txt", "o");
    project.write("inner/inner.txt", "i");
    const outer = await project.init();
    const store = await project.store();
    const { workspace: inner, result } = await store.init({ roots: [project.at("inner")] });
    expect(result.created).toBe(true);
    project.write("inner/inner.txt", "edited");
    await inner.snapshot();
    expect((await outer.snapshot()).changed).toBe(1);
    await inner.restore("baseline");
    expect(project.read("inner/inner.txt")).toBe("i");
    expect((await store.open({ folder: project.at("inner") })).id).toBe(inner.id);
    expect((await store.open({ folder: project.folder })).id).toBe(outer.id);
    await outer.restore("latest");
    expect(project.read("inner/inner.txt")).toBe("edited");
    await inner.close();
  });

  it.skipIf(!canMount)("C17 another file system is not entered, and a restore deletes nothing in it", () => {
    inMountSpace(`
      mkdir p p/mounted && echo f > p/file
      chronicle -C p init
      mount -t tmpfs none p/mounted && echo precious > p/mounted/data
      chronicle -C p snapshot --json > first.json
      grep -q '"other-device"' first.json
      grep -q '"complete": true' first.json
      echo more > p/new
      chronicle -C p restore baseline
      test ! -e p/new
      test "$(cat p/mounted/data)" = precious
      chronicle -C p verify
    `);
  });

  it("C19 rules that an agent changes afterwards do not make a restore delete files that were ignored then", async () => {
    await using project = new Project();
    project.write(".gitignore", "*.log\nbuild/\n");
    project.write("a.txt", "a");
    project.write("debug.log", "ignored\n");
    project.write("build/out.bin", "ignored too\n");
    const workspace = await project.init();
    project.write(".gitignore", "");
    project.write("b.txt", "b");
    await workspace.snapshot();
    expect((await workspace.manifest("latest")).files).toHaveProperty("debug.log");
    const restored = await workspace.restore("baseline");
    expect(project.tree()).not.toHaveProperty("b.txt");
    expect([project.read("debug.log"), project.read("build/out.bin")]).toEqual(["ignored\n", "ignored too\n"]);
    expect(restored.skipped.map((one) => one.path).sort()).toEqual(["build", "build/out.bin", "debug.log"]);
    // The other way round: a file that was recorded and is ignored now is restored like any other.
    project.write(".gitignore", "*.txt\n");
    project.write("a.txt", "edited");
    await workspace.restore("baseline");
    expect(project.read("a.txt")).toBe("a");
  });

  it("C19 C7 also at a moment between two snapshots, a restore keeps files that were ignored then", async () => {
    await using project = new Project();
    project.write(".gitignore", "*.log\n");
    project.write("debug.log", "ignored\n");
    const workspace = await project.init();
    project.write("a", "1");
    const { seq } = await workspace.record(["a"]);
    project.write(".gitignore", "");
    await workspace.snapshot();
    await workspace.restore(`seq:${seq}`);
    expect(project.read("debug.log")).toBe("ignored\n");
    expect(project.read(".gitignore")).toBe("*.log\n");
  });
});

describe("as a user without rights", () => {
  it.skipIf(!isRoot)(
    "C7 unreadable files and folders are listed, make the coverage partial, and do not count as removed",
    () => {
      const base = mkdtempSync(join(tmpdir(), "chronicle-rights-"));
      try {
        inMountSpace(
          `
        mkdir -p p/locked && echo f > p/file && echo in > p/locked/in && echo x > p/secret
        chronicle -C p init
        chmod 000 p/secret p/locked
        echo edited > p/file; echo also >> p/secret || true
        chronicle -C p snapshot --json > partial.json && exit 11 || test $? = 1
        chronicle -C p restore baseline --json > restored.json || true
        test "$(cat p/file)" = f
        chmod 755 p/locked; chmod 644 p/secret
        test "$(cat p/locked/in)" = in
        chronicle -C p snapshot --json | grep -q '"complete": true'
        chronicle -C p verify
        chmod 000 p/locked
        chronicle -C p restore baseline && exit 12 || test $? = 1; chmod 755 p/locked
        test "$(cat p/locked/in)" = in
      `,
          { folder: base, user: 65534 },
        );
        const { coverage } = JSON.parse(readFileSync(join(base, "partial.json"), "utf8")) as {
          coverage: { complete: boolean; omitted: { path: string; reason: string }[] };
        };
        expect(coverage.complete).toBe(false);
        expect(coverage.omitted.map((one) => [one.path, one.reason])).toEqual([
          ["locked", "unreadable"],
          ["secret", "unreadable"],
        ]);
      } finally {
        rmSync(base, { recursive: true, force: true });
      }
    },
  );
});
