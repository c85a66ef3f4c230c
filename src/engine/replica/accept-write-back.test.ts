import { describe, expect, it } from "vitest";
import { DirectionalFilter } from "../../core/filter/directional-filter.ts";
import { FilterPattern } from "../../core/filter/filter-pattern.ts";
import { sha256 } from "../../core/values/hash.ts";
import { decodeVersion } from "../../core/records/write-back.ts";
import { WriteBackRig } from "../../testing/write-back-rig.ts";
import { settledWriteBack } from "./settled-write-back.ts";

/** Checks origins both without a folder and with one. */
describe.each<[string, Readonly<Record<string, string>> | undefined]>([
  ["without a folder", undefined],
  ["with a folder", {}],
])("%s", (_, files) => {
  describe("two copies of one replica", () => {
    const ours = { eventHash: sha256("ours") };
    const theirs = { eventHash: sha256("theirs") };

    it("entries of the other copy under numbers that are decided already are refused, and not done", async () => {
      await using origin = await WriteBackRig.create(files);
      await origin.accept([await origin.entry(3, "a", "ours", ours)], { after: 0 });
      const { seq } = await origin.context.index.head();
      for (const localSeq of [2, 3, 4]) {
        const entry = await origin.entry(localSeq, "b", "theirs", theirs);
        await expect(origin.accept([entry], { after: 0 })).rejects.toMatchObject({ code: "ROLLBACK_DETECTED" });
      }
      expect(await origin.files()).toEqual({ a: "ours" });
      expect((await origin.context.index.head()).seq).toBe(seq);
      expect(await settledWriteBack(origin.context, "r1")).toMatchObject({ upTo: 3, hash: ours.eventHash });
    });

    it("the same batch, once more over another connection, is answered as before", async () => {
      await using origin = await WriteBackRig.create(files);
      const batch = [await origin.entry(3, "a", "one", ours), await origin.entry(4, "b", "two", theirs)];
      const answer = await origin.accept(batch, { after: 0 });
      expect(await origin.accept(batch, { after: 0 })).toEqual(answer);
      expect(await origin.accept(batch, { after: 4 })).toEqual(answer);
      const next = await origin.accept([await origin.entry(6, "c", "three")], { after: 4 });
      expect(next.accepted).toHaveLength(1);
    });
  });

  describe("entries that are based on the present state", () => {
    it("make a new file with its folders, as the replica's work", async () => {
      await using origin = await WriteBackRig.create(files);
      const whose = { session: "s1", turn: "t1", action: "a1" };
      const answer = await origin.accept([await origin.entry(7, "src/lib/a.ts", "one", whose)]);
      expect(answer).toEqual({
        accepted: [{ localSeq: 7, iteration: 1, sequence: await origin.seqOf("src/lib/a.ts") }],
        rejected: [],
      });
      expect(await origin.files()).toEqual({ src: "/", "src/lib": "/", "src/lib/a.ts": "one" });
      expect(await origin.iterations("src/lib/a.ts")).toMatchObject([
        { iteration: 1, cause: "replica", actor: "agent", ...whose, replica: { id: "r1", localSeq: 7 } },
      ]);
    });

    it("edit and delete what the replica has seen", async () => {
      await using origin = await WriteBackRig.create(files);
      const a = await origin.write("a", "one");
      const b = await origin.write("b", "one");
      const { accepted } = await origin.accept([
        await origin.entry(1, "a", "two", { seen: a, mode: 0o755 }),
        await origin.entry(2, "b", undefined, { seen: b }),
      ]);
      expect(accepted.map(({ iteration }) => iteration)).toEqual([2, 2]);
      expect(await origin.files()).toEqual({ a: "two" });
      expect((await origin.iterations("a")).map(({ entry }) => entry?.mode)).toEqual([0o644, 0o755]);
    });

    it("make links and folders, without mode bits that Chronicle never sets on a disk", async () => {
      await using origin = await WriteBackRig.create(files);
      const { rejected } = await origin.accept([
        await origin.entry(1, "dir", "", { kind: "dir", mode: 0o700 }),
        await origin.entry(2, "dir/link", "../a", { kind: "symlink", mode: 0o600 }),
        await origin.entry(3, "tool", "#!", { mode: 0o4755 }),
      ]);
      expect(rejected).toEqual([]);
      const modes = await Promise.all(["dir", "dir/link", "tool"].map((path) => origin.iterations(path)));
      expect(modes.map(([one]) => one?.entry?.mode)).toEqual([0o700, 0o777, 0o755]);
    });

    it("are answered with the event of an earlier entry of the batch if that has made the same state", async () => {
      await using origin = await WriteBackRig.create(files);
      const texts = ["1", "1", "2", "2", "1"];
      const entries = await Promise.all(texts.map((text, i) => origin.entry(i + 1, "a", text)));
      const { accepted } = await origin.accept(entries);
      const last = await origin.seqOf("a");
      expect(accepted.map(({ iteration, sequence }) => [iteration, sequence - last])).toEqual([
        [1, -2],
        [1, -2],
        [2, -1],
        [2, -1],
        [3, 0],
      ]);
    });

    it("make no event if the path has their state already", async () => {
      await using origin = await WriteBackRig.create(files);
      const a = await origin.write("a", "same");
      const { accepted, rejected } = await origin.accept([
        await origin.entry(1, "a", "same"),
        await origin.entry(2, "gone", undefined),
      ]);
      expect([accepted, rejected]).toEqual([
        [
          { localSeq: 1, iteration: 1, sequence: a },
          { localSeq: 2, iteration: 0, sequence: 0 },
        ],
        [],
      ]);
      expect(await origin.iterations("a")).toHaveLength(1);
    });

    it.each([["in one batch"], ["in batches"]])("continue from the replica's own work, %s", async (how) => {
      await using origin = await WriteBackRig.create(files);
      const seen = await origin.write("a", "0");
      const all = [
        await origin.entry(1, "a", "1", { seen }),
        await origin.entry(2, "a", undefined, { seen }),
        await origin.entry(3, "a", "3", { seen }),
      ];
      const answers = how === "in one batch" ? [await origin.accept(all)] : [];
      if (answers.length === 0) for (const one of all) answers.push(await origin.accept([one]));
      expect(answers.flatMap(({ accepted }) => accepted.map((one) => [one.localSeq, one.iteration]))).toEqual([
        [1, 2],
        [2, 3],
        [3, 4],
      ]);
      expect(await origin.files()).toEqual({ a: "3" });
      const texts = (await origin.iterations("a")).map(({ entry }) => entry?.hash);
      expect(texts).toEqual([sha256("0"), sha256("1"), undefined, sha256("3")]);
      expect(answers.flatMap(({ accepted }) => accepted.map((one) => one.sequence))).toEqual(
        (await origin.events("file:a")).slice(1).map(({ seq }) => seq),
      );
    });
  });

  describe("entries that are based on an earlier state", () => {
    it("are kept as versions, and the answer names the event that they lost against", async () => {
      await using origin = await WriteBackRig.create(files);
      const seen = await origin.write("a", "one");
      const now = await origin.write("a", "the host's");
      const whose = { session: "s1", turn: "t1", action: "a1" };
      const answer = await origin.accept([await origin.entry(4, "a", "the replica's", { seen, ...whose })]);
      const kept = { contentHash: sha256("the replica's") };
      expect(answer).toEqual({
        accepted: [],
        rejected: [{ localSeq: 4, reason: "stale", currentSequence: now, kept }],
      });
      expect(await origin.files()).toEqual({ a: "the host's" });
      const [version] = await origin.events("version:");
      expect(version?.recordId).toBe("version:r1:4");
      expect(decodeVersion(version?.record ?? {})).toMatchObject({
        replica: "r1",
        localSeq: 4,
        path: "a",
        entry: { hash: sha256("the replica's"), mode: 0o644 },
        seen,
        against: now,
        actor: "agent",
        ...whose,
      });
    });

    it("may be a deletion of an edited file, and the entry that follows it", async () => {
      await using origin = await WriteBackRig.create(files);
      const seen = await origin.write("a", "one");
      const now = await origin.write("a", "two");
      const answer = await origin.accept([
        await origin.entry(1, "a", undefined, { seen }),
        await origin.entry(2, "a", "again", { seen }),
      ]);
      const stale = { reason: "stale", currentSequence: now };
      expect(answer.rejected).toEqual([
        { localSeq: 1, ...stale, kept: { contentHash: null } },
        { localSeq: 2, ...stale, kept: { contentHash: sha256("again") } },
      ]);
      expect(await origin.files()).toEqual({ a: "two" });
    });

    it("are those of the second of two replicas, whose state becomes a version", async () => {
      await using origin = await WriteBackRig.create(files);
      const seen = await origin.write("a", "one");
      const first = await origin.accept([await origin.entry(1, "a", "r1", { seen })], { replica: "r1" });
      const second = await origin.accept([await origin.entry(1, "a", "r2", { seen })], { replica: "r2" });
      expect([first.accepted.length, second.rejected.map((one) => one.reason)]).toEqual([1, ["stale"]]);
      // The first replica's next entry does not replace what somebody else did meanwhile.
      const back = await origin.write("a", "one");
      const third = await origin.accept([await origin.entry(2, "a", "r1 again", { seen })], { replica: "r1" });
      expect(third.rejected).toMatchObject([{ reason: "stale", currentSequence: back }]);
    });
  });

  describe("folders", () => {
    it("a folder is deleted with its contents, although its entry comes before theirs", async () => {
      await using origin = await WriteBackRig.create(files);
      const a = await origin.write("d/e/a", "1");
      const b = await origin.write("d/b", "2");
      const [d, e] = [await origin.seqOf("d"), await origin.seqOf("d/e")];
      const { seq: head } = await origin.context.index.head();
      const answer = await origin.accept([
        await origin.entry(1, "d", undefined, { seen: d }),
        await origin.entry(2, "d/b", undefined, { seen: b }),
        await origin.entry(3, "d/e", undefined, { seen: e }),
        await origin.entry(4, "d/e/a", undefined, { seen: a }),
      ]);
      expect(answer.rejected).toEqual([]);
      const gone = (await origin.events("file:d")).filter(({ seq }) => seq > head);
      const seqs = new Map(gone.map(({ recordId, seq }) => [recordId, seq]));
      const paths = ["file:d", "file:d/b", "file:d/e", "file:d/e/a"];
      expect(answer.accepted.map((one) => one.sequence)).toEqual(paths.map((id) => seqs.get(id)));
      // Without an intent, the contents of a folder are deleted first. A crash then leaves nothing without its folder.
      if (files === undefined) expect([...seqs.keys()]).toEqual(["file:d/e/a", "file:d/e", "file:d/b", "file:d"]);
      expect(await origin.files()).toEqual({});
    });

    it("a folder whose contents are deleted in later batches is deleted with the last of them", async () => {
      await using origin = await WriteBackRig.create(files);
      const seen: number[] = [];
      for (const name of ["a", "b", "c"]) seen.push(await origin.write(`d/${name}`, name));
      const d = await origin.seqOf("d");
      const first = await origin.accept([
        await origin.entry(1, "d", undefined, { seen: d }),
        await origin.entry(2, "d/a", undefined, { seen: seen[0] ?? 0 }),
      ]);
      expect(first.rejected).toMatchObject([{ localSeq: 1, reason: "stale", currentSequence: seen[2] }]);
      expect(await origin.events("version:")).toHaveLength(1);
      await origin.accept([await origin.entry(3, "d/b", undefined, { seen: seen[1] ?? 0 })]);
      expect(await origin.files()).toEqual({ d: "/", "d/c": "c" });
      const last = await origin.accept([
        await origin.entry(4, "d/c", undefined, { seen: seen[2] ?? 0 }),
        await origin.entry(5, "e", "e"),
      ]);
      expect(last.accepted.map(({ localSeq }) => localSeq)).toEqual([4, 5]);
      expect(await origin.files()).toEqual({ e: "e" });
      expect((await origin.iterations("d")).at(-1)).toMatchObject({ replica: { id: "r1", localSeq: 1 } });
      expect((await origin.context.index.records("version:")).length).toBe(0);
    });

    it("such a folder is not deleted after the replica has done something else", async () => {
      await using origin = await WriteBackRig.create(files);
      const a = await origin.write("d/a", "a");
      const d = await origin.seqOf("d");
      await origin.accept([await origin.entry(1, "d", undefined, { seen: d })]);
      await origin.accept([await origin.entry(2, "e", "e")]);
      await origin.accept([await origin.entry(3, "d/a", undefined, { seen: a })]);
      expect(await origin.files()).toEqual({ d: "/", e: "e" });
    });

    it("a folder with an unseen file stays, with the folders between, and the answer names the event to wait for", async () => {
      await using origin = await WriteBackRig.create(files);
      const a = await origin.write("d/e/a", "1");
      const [d, e] = [await origin.seqOf("d"), await origin.seqOf("d/e")];
      const unseen = await origin.write("d/e/new", "2");
      const answer = await origin.accept([
        await origin.entry(1, "d", undefined, { seen: d }),
        await origin.entry(2, "d/e", undefined, { seen: e }),
        await origin.entry(3, "d/e/a", undefined, { seen: a }),
      ]);
      expect(answer.rejected.map((one) => [one.localSeq, one.reason, one.currentSequence])).toEqual([
        [1, "stale", unseen],
        [2, "stale", unseen],
      ]);
      expect(await origin.files()).toEqual({ d: "/", "d/e": "/", "d/e/new": "2" });
      // `against` of each kept version is the last event of the folder itself.
      const versions = await origin.events("version:");
      expect(versions.map(({ record }) => record["against"])).toEqual([e, d]);
    });

    it("a folder into which the same batch has put a file stays, and that file's event is not one to wait for", async () => {
      await using origin = await WriteBackRig.create(files);
      await origin.write("d/a", "1");
      const [d, a] = [await origin.seqOf("d"), await origin.seqOf("d/a")];
      const answer = await origin.accept([
        await origin.entry(1, "d/new", "2", { seen: 0 }),
        await origin.entry(2, "d", undefined, { seen: d }),
        await origin.entry(3, "d/a", undefined, { seen: a }),
      ]);
      expect(answer.rejected).toEqual([
        { localSeq: 2, reason: "stale", currentSequence: d, kept: { contentHash: null } },
      ]);
    });

    it("a file takes the place of a folder, and a folder that of a file", async () => {
      await using origin = await WriteBackRig.create(files);
      const a = await origin.write("d/a", "1");
      const f = await origin.write("f", "2");
      const d = await origin.seqOf("d");
      const { rejected } = await origin.accept([
        await origin.entry(1, "d", "now a file", { seen: d }),
        await origin.entry(2, "d/a", undefined, { seen: a }),
        await origin.entry(3, "f", "", { seen: f, kind: "dir" }),
        await origin.entry(4, "f/a", "3"),
      ]);
      expect(rejected).toEqual([]);
      expect(await origin.files()).toEqual({ d: "now a file", f: "/", "f/a": "3" });
    });

    it("a file beneath a folder that has become a file is rejected", async () => {
      await using origin = await WriteBackRig.create(files);
      const file = await origin.write("d", "a file");
      const { rejected } = await origin.accept([await origin.entry(1, "d/a", "1")]);
      expect(rejected).toMatchObject([{ reason: "stale", currentSequence: file, kept: { contentHash: sha256("1") } }]);
      expect(await origin.files()).toEqual({ d: "a file" });
    });
  });

  describe("the same entries again", () => {
    it("are answered as before, and done once", async () => {
      await using origin = await WriteBackRig.create(files);
      const seen = await origin.write("a", "0");
      await origin.write("b", "b");
      const entries = [await origin.entry(3, "a", "1", { seen }), await origin.entry(5, "b", "mine")];
      const first = await origin.accept(entries);
      expect([first.accepted.length, first.rejected.length]).toEqual([1, 1]);
      await origin.write("a", "later");
      const events = (await origin.events()).length;
      expect(await origin.accept(entries)).toEqual(first);
      expect((await origin.events()).length).toBe(events);
      expect(await settledWriteBack(origin.context, "r1")).toEqual({ upTo: 5, last: first });
      expect(await settledWriteBack(origin.context, "r2")).toEqual({ upTo: 0, last: { accepted: [], rejected: [] } });
    });

    it("are answered together with the new entries of their batch", async () => {
      await using origin = await WriteBackRig.create(files);
      const one = await origin.entry(1, "a", "1");
      const two = await origin.entry(2, "b", "2");
      const first = await origin.accept([one]);
      const both = await origin.accept([one, two]);
      expect(both.accepted).toMatchObject([first.accepted[0] ?? {}, { localSeq: 2, iteration: 1 }]);
      expect(await origin.iterations("a")).toHaveLength(1);
    });

    it("of an earlier batch are left out of the answer, and not done", async () => {
      await using origin = await WriteBackRig.create(files);
      const one = await origin.entry(1, "a", "1");
      await origin.accept([one]);
      await origin.accept([await origin.entry(2, "a", "2")]);
      expect(await origin.accept([one])).toEqual({ accepted: [], rejected: [] });
      expect(await origin.files()).toEqual({ a: "2" });
    });
  });

  describe("an entry that cannot be accepted", () => {
    it.each<[string, (now: { a: number; b: number; head: number }) => number, number]>([
      ["an event to come", ({ head }) => head + 1, 0],
      ["an event of another path", ({ b }) => b, 0],
      ["an event that was not sent to it", ({ a }) => a, 1],
    ])("is rejected as a causal lie if it claims to have seen %s, and is not kept", async (_, seenOf, behind) => {
      await using origin = await WriteBackRig.create(files);
      const a = await origin.write("a", "1");
      const b = await origin.write("b", "1");
      const { seq: head } = await origin.context.index.head();
      const entry = await origin.entry(1, "a", "2", { seen: seenOf({ a, b, head }) });
      const { accepted, rejected } = await origin.accept([entry], { acknowledged: behind === 0 ? head : a - 1 });
      expect([accepted, rejected]).toEqual([[], [{ localSeq: 1, reason: "causal-lie" }]]);
      expect([await origin.files(), await origin.events("version:")]).toEqual([{ a: "1", b: "1" }, []]);
    });

    it.each([".git/hooks/post-commit", "sub/.GIT/config", ".chronicle-tmp/x", "d/.chronicle-tmp"])(
      "is rejected if its path is %s",
      async (path) => {
        await using origin = await WriteBackRig.create(files);
        const { rejected } = await origin.accept([await origin.entry(1, path, "#!/bin/sh")]);
        expect(rejected).toEqual([{ localSeq: 1, reason: "path" }]);
      },
    );

    it("is rejected if it deletes a folder that is filtered", async () => {
      await using origin = await WriteBackRig.create(files);
      const filter = new DirectionalFilter().addPattern(new FilterPattern("build/"), "from-replica");
      const seen = await origin.write("build/x", "x");
      const folder = await origin.seqOf("build");
      const batch = [
        await origin.entry(1, "build", undefined, { seen: folder }),
        await origin.entry(2, "build/x", undefined, { seen }),
      ];
      const { rejected } = await origin.accept(batch, { rules: { filter } });
      expect(rejected.map(({ reason }) => reason)).toEqual(["filtered", "filtered"]);
      expect(await origin.files()).toEqual({ build: "/", "build/x": "x" });
    });

    it("is rejected with its reason, and the other entries are accepted", async () => {
      await using origin = await WriteBackRig.create(files);
      const filter = new DirectionalFilter().addPattern(new FilterPattern("*.log"), "from-replica");
      const entries = [
        await origin.entry(1, "good", "good"),
        await origin.entry(2, "x.log", "noise"),
        await origin.entry(3, "large", "0123456789a"),
        await origin.entry(4, "n".repeat(300), "name"),
        await origin.entry(5, "link", "", { kind: "symlink" }),
        await origin.entry(6, "nul", "a\0b", { kind: "symlink" }),
        await origin.entry(9, "better", "better"),
      ];
      const nowhere = { ...(await origin.entry(7, "nowhere", "kept")), localSeq: 7 };
      const hash = sha256("nobody has this");
      const missing = { ...nowhere, entry: nowhere.entry && { ...nowhere.entry, hash } };
      const wrong = { ...nowhere, localSeq: 8, entry: nowhere.entry && { ...nowhere.entry, size: 3 } };
      const batch = [...entries.slice(0, 6), missing, wrong, ...entries.slice(6)];
      const { accepted, rejected } = await origin.accept(batch, { rules: { filter, maxBytes: 10 } });
      expect(accepted.map((one) => one.localSeq)).toEqual([1, 9]);
      expect(rejected.map((one) => [one.localSeq, one.reason])).toEqual([
        [2, "filtered"],
        [3, "too-large"],
        [4, "path"],
        [5, "path"],
        [6, "path"],
        [7, "content-missing"],
        [8, "hash-mismatch"],
      ]);
    });
  });
});
