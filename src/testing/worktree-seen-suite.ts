import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sha256 } from "../core/values/hash.ts";
import { pathFromBytes, type WorkspacePath } from "../core/values/path.ts";
import type { WorktreeEditor, WorktreeHarness } from "./worktree-harness.ts";
import { Recorder } from "./worktree-recorder.ts";

function asPath(text: string): WorkspacePath {
  return pathFromBytes(Buffer.from(text));
}

/** A part of the contract of `Worktree`: it trusts only states that it has read, as of the time of reading. */
export function worktreeSeenSuite(name: string, make: () => WorktreeHarness): void {
  describe(`${name}: trusted states`, () => {
    let harness: WorktreeHarness;
    let edit: WorktreeEditor;
    let recorder: Recorder;

    beforeEach(() => {
      harness = make();
      edit = harness.edit;
      recorder = new Recorder(harness);
    });
    afterEach(() => harness.dispose());

    test("a file that was read is trusted as of the scan that found it, not as of a later one", async () => {
      edit.write("a", "1");
      const { startedAtNs } = await harness.worktree.scan({}, () => undefined);
      const [entry, stat] = [await harness.worktree.inspect(asPath("a")), edit.stat("a")];
      if (entry === undefined || stat === undefined) throw new Error("the file a was not found");
      harness.later();
      await harness.worktree.scan({ only: [] }, () => undefined);
      harness.worktree.remember([{ entry, stat }], startedAtNs);
      expect((await recorder.capture()).changed).toEqual(["a"]);
    });

    test.each(["done already", "a mode only"])(
      "the next scan finds a write that was made during an apply: %s",
      async (how) => {
        edit.write("a", "1", 0o644);
        edit.write("b", "1");
        harness.later();
        await recorder.capture();
        const before = recorder.state();
        if (how === "a mode only") edit.chmod("a", 0o600);
        else edit.write("a", "2");
        edit.write("b", "2");
        harness.later();
        await recorder.capture();
        const changes = recorder.changesTo(before);
        // The file is as an interrupted apply has left it.
        if (how !== "a mode only") edit.write("a", "1");
        harness.later();
        const b = recorder.keep(Buffer.from("1"));
        await recorder.apply(changes, {
          resume: true,
          onBlocked: "skip",
          contents: async function* (hashes) {
            for (const hash of hashes) if (hash === b) yield [hash, recorder.reader(hash)] as const;
            edit.write("a", "9");
            harness.later();
          },
        });
        harness.later();
        expect((await recorder.capture()).changed).toContain("a");
      },
    );

    test("resuming an interrupted apply leaves alone a file that was removed in the meantime", async () => {
      edit.write("a", "1");
      edit.write("b", "1");
      await recorder.capture();
      const before = recorder.state();
      edit.write("a", "2");
      edit.write("b", "2");
      await recorder.capture();
      const changes = recorder.changesTo(before);
      edit.remove("a");
      const report = await recorder.apply(changes, { onBlocked: "skip", resume: true });
      expect(report).toMatchObject({ applied: ["b"], blocked: [{ path: "a", reason: "changed" }] });
      expect(edit.list()).toEqual(["b"]);
    });

    test("a file gets its recorded time with keepMtime", async () => {
      edit.write("a", "1");
      await recorder.capture();
      const before = recorder.state();
      const was = before.get(asPath("a"))?.mtimeMs;
      edit.write("a", "2");
      await recorder.capture();
      await recorder.apply(recorder.changesTo(before), { keepMtime: true });
      expect(Number((edit.stat("a")?.mtimeNs ?? 0n) / 1_000_000n)).toBe(was);
    });

    test("an applied file is remembered, and is read again because its times are recent", async () => {
      edit.write("a", "1");
      harness.later();
      await recorder.capture();
      const before = recorder.state();
      edit.write("a", "22");
      await recorder.capture();
      await recorder.apply(recorder.changesTo(before));
      expect(harness.worktree.recall(asPath("a"))?.entry.hash).toBe(sha256("1"));
      edit.write("a", "3");
      expect((await recorder.capture()).changed).toEqual(["a"]);
    });
  });
}
