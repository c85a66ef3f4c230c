/**
 * Maps the name of a command of another tool to a hint that names the command of Chronicle for the same purpose.
 * `chronicle NAME` prints this hint. `docs/coming-from.md` describes the differences.
 */
const FOREIGN: Readonly<Record<string, string>> = {
  abandon: "`chronicle undo --action ID`, `--turn ID` or `--session ID`",
  add: "nothing is staged; `chronicle snapshot` records the present state",
  annotate: "`chronicle blame FILE`",
  archive: "`chronicle restore MOMENT --to DIR`, then `tar`",
  backup: "`chronicle snapshot`",
  branch: "`chronicle workspaces create NAME --from ID@MOMENT`",
  bundle: "`chronicle export FILE`",
  check: "`chronicle verify`",
  checkout: "`chronicle restore MOMENT [FILE]`",
  checkpoint: "`chronicle snapshot --name NAME`",
  checkpoints: "`chronicle list`",
  "cherry-pick": "history is never rewritten; `chronicle restore MOMENT FILE` brings a file back",
  clean: "`chronicle restore latest`, which also removes what is new since that snapshot",
  clone: "`chronicle sync start URL DIR`",
  commit: "`chronicle snapshot -m TEXT`",
  compute_restore_diff: "`chronicle restore MOMENT --dry-run`",
  create: "`chronicle snapshot`",
  create_baseline: "`chronicle init`",
  create_incremental: "`chronicle snapshot`",
  describe: "`chronicle snapshot -m TEXT`",
  dump: "`chronicle cat FILE@N`",
  evolog: "`chronicle history FILE`",
  extract: "`chronicle restore MOMENT PATH --to DIR`",
  fetch: "`chronicle sync start URL DIR`",
  find: "`chronicle history NAME`",
  fsck: "`chronicle verify`",
  info: "`chronicle status`",
  load_manifest: "`chronicle manifest MOMENT`",
  ls: "`chronicle files`",
  "ls-files": "`chronicle files`",
  "ls-tree": "`chronicle manifest MOMENT`",
  merge: "`chronicle undo` merges with later edits; `chronicle resolve` settles what does not merge",
  mergetool: "`chronicle resolve PATH`",
  mount: "`chronicle files --at MOMENT` and `chronicle restore MOMENT --to DIR`",
  new: "`chronicle snapshot -m TEXT`",
  op: "`chronicle list`; `chronicle undo ID`",
  pull: "`chronicle sync start URL DIR`",
  push: "`chronicle sync start URL DIR`",
  rebase: "history is never rewritten; `chronicle undo ID` takes back one piece of work",
  reflog: "`chronicle list`",
  remove: "`chronicle rm PATH` for a file, `chronicle forget` for a history",
  replay: "`chronicle restore MOMENT`",
  reset: "`chronicle restore MOMENT`",
  restore_to: "`chronicle restore MOMENT`",
  revert: "`chronicle undo ID`",
  snapshot_count: "`chronicle list --snapshots`",
  snapshots: "`chronicle list --snapshots`",
  stash: "`chronicle snapshot --name NAME`, then `chronicle restore MOMENT`",
  stats: "`chronicle du`",
  switch: "`chronicle restore MOMENT`",
  tag: "`chronicle snapshot --name NAME`",
  timeline: "`chronicle list`",
  uninstall: "`chronicle agents uninstall`, `chronicle watch --uninstall FOLDER` and `chronicle forget`",
  verify_integrity: "`chronicle verify`",
  worktree: "`chronicle restore MOMENT --to DIR`",
};

/** Returns the hint of `FOREIGN` for a word; `undefined` if there is none. */
export function sameHere(word: string): string | undefined {
  return Object.hasOwn(FOREIGN, word) ? FOREIGN[word] : undefined;
}

/** The words that `sameHere` knows. */
export const FOREIGN_WORDS: readonly string[] = Object.keys(FOREIGN);
