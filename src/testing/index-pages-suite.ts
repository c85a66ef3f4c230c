import { afterEach, describe, expect, test } from "vitest";
import { sha256 } from "../core/values/hash.ts";
import { comparePaths, parsePath, pathFromBytes, ROOT, type WorkspacePath } from "../core/values/path.ts";
import type { EntryPage, IndexStore } from "../storage/index-store.ts";
import { applySteps, batchTo, entryAt, eventAt, rowsOf, type Step } from "./index-rows.ts";

const p = (text: string): WorkspacePath => parsePath(text);

async function pathsAt(
  store: IndexStore,
  beneath: WorkspacePath | undefined,
  page: EntryPage,
  seq = 1_000,
): Promise<string[]> {
  const paths: string[] = [];
  for await (const rows of store.entriesAt(seq, beneath, page)) paths.push(...rows.map((row) => row.path));
  return paths;
}

/** The part of the contract of `IndexStore` about pages and contents. */
export function indexPagesSuite(name: string, open: () => IndexStore): void {
  describe(`${name}: pages`, () => {
    const opened: IndexStore[] = [];
    function fresh(): IndexStore {
      const store = open();
      opened.push(store);
      return store;
    }
    afterEach(async () => {
      for (const store of opened.splice(0)) await store.close();
    });

    /**
     * Makes a store with names that sort differently than their text suggests, a file that was a folder, and a deleted
     * folder.
     */
    async function filled(): Promise<IndexStore> {
      const store = fresh();
      await applySteps(store, [
        ["a", "dir"],
        ["a/b", "dir"],
        ["a/b/c", "file:1"],
        ["a/b/d", "file:2"],
        ["a!", "file:1"],
        ["a/b!", "file:1"],
        ["a/z", "symlink:b"],
        ["gone", "dir"],
        ["gone/x", "file:1"],
        ["gone/x", "deleted"],
        ["gone", "deleted"],
        ["was", "dir"],
        ["was/in", "file:1"],
        ["was/in", "deleted"],
        ["was", "file:now"],
        ["unrecorded/folder/x", "file:1"],
        ["\0lib/src", "dir"],
        ["\0lib/src/x", "file:1"],
      ]);
      return store;
    }

    test("iterationsAt answers many paths as iterationAt answers each of them, in their order", async () => {
      const store = fresh();
      const steps: Step[] = [];
      // Names most of which are not asked for, names with a long history, names that are not UTF-8, and some that never
      // existed.
      for (let i = 0; i < 300; i += 1) steps.push([`wide/n${i}`, `file:${i}`]);
      for (let times = 0; times < 60; times += 1) {
        for (const one of ["a", "b", "c", "d", "e"]) steps.push([`deep/${one}`, `file:${times}`]);
      }
      for (const text of ["x", "y", "z", "w", "v"]) steps.push([`gone/${text}`, "file:1"], [`gone/${text}`, "deleted"]);
      await store.apply(batchTo(steps.length, { iterations: rowsOf(steps) }));
      const odd = pathFromBytes(Buffer.from([0x77, 0x69, 0x64, 0x65, 0x2f, 0xff]));
      const last = steps.length + 1;
      await store.apply(batchTo(last, { iterations: [{ path: odd, seq: last, iteration: 1, entry: entryAt(odd) }] }));
      const near = ["n7", "n70", "n71", "n72", "none", "zzz", "n"].map((one) => p(`wide/${one}`));
      const deep = ["e", "d", "none", "c", "b", "a", "f"].map((one) => p(`deep/${one}`));
      const others = ["gone/x", "gone/y", "gone/z", "gone/w", "never/a", "never/b", "never/c", "never/d", "wide"].map(
        p,
      );
      const far = Array.from({ length: 12 }, (_, i) => p(`wide/n${i * 25}`));
      const wanted = [...near, ...far, ...others, odd, ...deep];
      for (const seq of [0, 1, 150, 301, 450, 605, last]) {
        const each = [];
        for (const path of wanted) each.push(await store.iterationAt(path, seq));
        expect(await store.iterationsAt(wanted, seq)).toEqual(each);
      }
    });

    test("a listing can continue after any path, whatever the folder and the depth", async () => {
      const store = await filled();
      for (const beneath of [
        undefined,
        ROOT,
        "\0lib" as WorkspacePath,
        p("a"),
        p("a/b"),
        p("a/b/c"),
        p("was"),
        p("gone"),
        p("none"),
      ]) {
        for (const depth of [1, 2, 3, undefined]) {
          const page = depth === undefined ? {} : { depth };
          const all = await pathsAt(store, beneath, page);
          const cursors = [
            ...new Set([...all, ...(await pathsAt(store, undefined, {})), "a/b/none", "zz", "gone/x", "A"]),
          ];
          for (const after of cursors) {
            const rest = await pathsAt(store, beneath, { ...page, after: after as WorkspacePath });
            const expected = all.filter((path) => comparePaths(path, after) > 0);
            expect(rest, `${beneath} ${depth} after ${after}`).toEqual(expected);
          }
        }
      }
    });

    test.each(["in their order", "in disorder"])(
      "a walk through hundreds of folders, recorded %s, leaves nothing out",
      async (how) => {
        const store = fresh();
        const paths: WorkspacePath[] = [];
        for (let top = 0; top < 20; top += 1) {
          for (let i = 0; i < 30; i += 1) {
            const folder = `t${top}/${i % 3 === 0 ? `deep${i}/` : ""}f${i}`;
            for (let n = 0; n <= (i * 7) % 11; n += 1) paths.push(p(`${folder}/n${n}`));
          }
        }
        for (const odd of ["t3/f4/\xff", "t5/\xfe\xff/x", "t5/\xfe\xff/y", "t5/\xef\xbf\xbd", "t7/f1/\xef\xbf\xbd"])
          paths.push(pathFromBytes(Buffer.from(odd, "latin1")));
        paths.push("\0lib/src/x" as WorkspacePath, "\0lib/y" as WorkspacePath, p("wide/last"));
        for (let n = 0; n < 3_000; n += 1) paths.push(p(`wide/w${n}`));
        const order = how === "in disorder" ? paths.toSorted((a, b) => (sha256(a) < sha256(b) ? -1 : 1)) : paths;
        const gone = new Set(order.filter((_, i) => i % 5 === 0));
        const there = order.map((path, i) => ({ path, seq: i + 1, iteration: 1, entry: entryAt(path, "file", path) }));
        await store.apply(batchTo(order.length, { iterations: there }));
        let seq = order.length;
        const deletions = [...gone].map((path) => ({ path, seq: (seq += 1), iteration: 2, entry: undefined }));
        await store.apply(batchTo(seq, { iterations: deletions }));
        const now = paths.filter((path) => !gone.has(path)).sort(comparePaths);
        expect(await pathsAt(store, undefined, {}, seq)).toEqual(now);
        expect(await pathsAt(store, ROOT, {}, seq)).toEqual(now.filter((path) => !path.startsWith("\0")));
        expect(await pathsAt(store, undefined, {}, order.length)).toEqual(paths.toSorted(comparePaths));
        expect(await pathsAt(store, p("t5"), {}, seq)).toEqual(now.filter((path) => path.startsWith("t5/")));
        const half = order.slice(0, 1_000).sort(comparePaths);
        const rows: unknown[] = [];
        for await (const batch of store.entriesAt(1_000)) for (const { entry } of batch) rows.push(entry);
        expect(rows).toEqual(half.map((path) => entryAt(path, "file", path)));
      },
    );

    test("depth counts from the folder that is listed; 0 is the folder alone", async () => {
      const store = await filled();
      expect(await pathsAt(store, ROOT, { depth: 1 })).toEqual(["a", "a!", "was"]);
      expect(await pathsAt(store, ROOT, { depth: 2 })).toEqual(["a", "a/b", "a/b!", "a/z", "a!", "was"]);
      const everywhere = ["\0lib/src", "a", "a/b", "a/b!", "a/z", "a!", "was"];
      expect(await pathsAt(store, undefined, { depth: 2 })).toEqual(everywhere);
      expect(await pathsAt(store, p("a"), { depth: 1 })).toEqual(["a", "a/b", "a/b!", "a/z"]);
      expect(await pathsAt(store, p("a"), { depth: 0 })).toEqual(["a"]);
      expect(await pathsAt(store, ROOT, { depth: 0 })).toEqual([]);
      expect(await pathsAt(store, ROOT, { depth: 1 }, 8)).toEqual(["a", "a!", "gone"]);
    });

    test("the pages of a wide folder have each path once", async () => {
      const store = fresh();
      const paths = Array.from({ length: 5_000 }, (_, i) => p(`d/${i % 7}/f${i}`));
      const iterations = paths.map((path) => ({ path, seq: 1, iteration: 1, entry: entryAt(path) }));
      await store.apply(batchTo(1, { events: [eventAt(1, "snapshot:0")], iterations }));
      const met: WorkspacePath[] = [];
      for (let after: WorkspacePath | undefined; ;) {
        const page: WorkspacePath[] = [];
        for await (const rows of store.entriesAt(1, p("d"), after === undefined ? {} : { after })) {
          page.push(...rows.map((row) => row.path));
          if (page.length >= 333) break;
        }
        met.push(...page.slice(0, 333));
        if (page.length === 0) break;
        after = met.at(-1);
      }
      expect(met).toEqual([...paths].sort(comparePaths));
    });

    test("iterations can begin after a number, and can be limited", async () => {
      const store = fresh();
      await applySteps(
        store,
        Array.from({ length: 10 }, (_, i) => ["a", i === 4 ? "deleted" : `file:${i}`] as const),
      );
      const numbers = async (page: Parameters<IndexStore["iterations"]>[1]): Promise<number[]> =>
        (await store.iterations(p("a"), page)).map((row) => row.iteration);
      expect(await numbers({ after: 3, limit: 3 })).toEqual([4, 5, 6]);
      expect(await numbers({ limit: 2 })).toEqual([1, 2]);
      expect(await numbers({ after: 8 })).toEqual([9, 10]);
      expect(await numbers({ after: 10, limit: 5 })).toEqual([]);
      expect(await numbers({ limit: 0 })).toEqual([]);
      expect(await numbers(undefined)).toHaveLength(10);
      expect(await store.iterations(p("none"), { limit: 5 })).toEqual([]);
    });

    test("withContent finds the last iteration with a content: of any path, deleted or not, and of links", async () => {
      const store = fresh();
      const steps = [
        ["a", "file:same"],
        ["d/b", "file:same"],
        ["a", "file:other"],
        ["d/b", "deleted"],
        ["l", "symlink:target"],
      ] as const;
      await applySteps(store, steps);
      expect(await store.withContent(sha256("same"))).toMatchObject({ path: "d/b", seq: 2, iteration: 1 });
      expect(await store.withContent(sha256("other"))).toMatchObject({ path: "a", seq: 3, iteration: 2 });
      expect(await store.withContent(sha256("target"))).toMatchObject({ path: "l" });
      expect(await store.withContent(sha256("never"))).toBeUndefined();
      const asked = ["same", "never", "target", "other", "same"].map((text) => sha256(text));
      expect(await store.withContents(asked)).toEqual(new Set(["same", "target", "other"].map((text) => sha256(text))));
      const path = p("later");
      await store.apply(
        batchTo(6, { iterations: [{ path, seq: 6, iteration: 1, entry: entryAt(path, "file", "new") }] }),
      );
      expect(await store.withContent(sha256("new"))).toMatchObject({ path: "later", seq: 6 });
      await store.reset();
      expect(await store.withContent(sha256("new"))).toBeUndefined();
      await applySteps(store, steps);
      expect(await store.withContent(sha256("same"))).toMatchObject({ path: "d/b" });
    });
  });
}
