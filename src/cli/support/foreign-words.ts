/** Words of other tools that have the same counterpart here, and the hint that names it. */
type Row = readonly [words: string, hint: string];

/**
 * The names of commands, methods, types and messages of other tools. `chronicle NAME` prints the hint. The words are
 * separated by blanks. `docs/coming-from.md` describes the differences; a test checks that each name in its tables
 * has a hint here that names what the document names.
 */
const COMMANDS: readonly Row[] = [
  // git, jj
  ["add stage", "nothing is staged; `chronicle snapshot` records the present state"],
  ["commit new describe desc ci save", "`chronicle snapshot -m TEXT`"],
  ["tag bookmark", "`chronicle snapshot --name NAME`"],
  ["stash shelve", "`chronicle snapshot --name NAME`, then `chronicle restore MOMENT`"],
  ["checkout switch reset co", "`chronicle restore MOMENT`; with a file: `chronicle restore MOMENT FILE`"],
  ["cherry-pick am apply", "history is never rewritten; `chronicle restore MOMENT FILE` brings a file back"],
  ["clean", "`chronicle restore latest`, which also removes what is new since that snapshot"],
  ["revert", "`chronicle undo ID`"],
  ["abandon", "`chronicle undo --action ID`, `chronicle undo --turn ID` or `chronicle undo --session ID`"],
  ["rebase squash amend", "history is never rewritten; `chronicle undo ID` takes back one piece of work"],
  ["split diffedit", "`chronicle undo FILE:10-20` takes back lines of the present file"],
  ["merge pull-request", "`chronicle undo` merges with later edits; `chronicle resolve` settles what does not merge"],
  ["mergetool", "`chronicle resolve PATH`"],
  ["annotate praise", "`chronicle blame FILE`"],
  ["evolog obslog filelog", "`chronicle history FILE`"],
  ["show-branch shortlog whatchanged reflog rev-list", "`chronicle list`"],
  ["op operation", "`chronicle list`; `chronicle undo ID`; `chronicle restore ID`"],
  ["difftool interdiff range-diff format-patch", "`chronicle diff -p`"],
  ["st", "`chronicle status`"],
  ["branch", "`chronicle workspaces create NAME --from ID@MOMENT`"],
  ["workspace", "`chronicle workspaces`; `chronicle workspaces create NAME --from ID` makes a fork"],
  ["worktree", "`chronicle restore MOMENT --to DIR`"],
  ["clone fetch pull push remote submodule", "`chronicle sync start URL DIR`"],
  ["copy recreate", "`chronicle sync start URL DIR`; to another store: `chronicle export FILE`"],
  ["bundle export-tar", "`chronicle export FILE`"],
  ["archive tar", "`chronicle restore MOMENT --to DIR`, then `tar`"],
  ["fsck verify-commit verify-tag", "`chronicle verify`"],
  ["filter-repo filter-branch rewrite", "`chronicle erase PATH`, or `chronicle erase --match PATTERN`"],
  ["ls ls-files", "`chronicle files`"],
  ["ls-tree", "`chronicle manifest MOMENT`, or `chronicle files --at MOMENT`"],
  ["cat-file show-file", "`chronicle cat FILE@N`"],
  ["file", "`chronicle cat FILE`, `chronicle history FILE` or `chronicle blame FILE`"],
  ["gitignore check-ignore check-attr", "`chronicle explain PATH` says why a path is recorded or not"],
  ["notes", "`chronicle run --note TEXT -- COMMAND`"],
  ["util maintenance repack", "`chronicle gc`"],
  ["git jj", "`chronicle run -- git status` runs git, and records what it changes"],
  // restic, borg
  ["backup create", "`chronicle snapshot`; `chronicle watch` takes them by itself"],
  ["snapshots list-snapshots snapshot_count", "`chronicle list --snapshots`"],
  ["extract", "`chronicle restore MOMENT PATH --to DIR`"],
  ["dump", "`chronicle cat FILE@N`"],
  ["find", "`chronicle history NAME`"],
  ["check", "`chronicle verify`"],
  ["repair", "`chronicle verify --repair-from PLACE`; `chronicle rebuild` makes the index anew"],
  ["mount umount", "`chronicle files --at MOMENT` and `chronicle restore MOMENT --to DIR`"],
  ["key", "none: the store is not encrypted; `chronicle export FILE --with-key` moves the signing key"],
  ["unlock break-lock", "none needed: a lock ends with its process; `chronicle doctor` finds what is in the way"],
  ["stats", "`chronicle du`"],
  ["info", "`chronicle status`"],
  [
    "rename",
    "`chronicle mv FROM TO` for a file; a snapshot keeps its name: `chronicle snapshot --name NAME` takes another",
  ],
  [
    "delete remove",
    "`chronicle rm PATH` for a file, `chronicle prune` for old moments, `chronicle forget` for a history",
  ],
  // Time Machine, editors
  ["tmutil", "`chronicle status`, `chronicle list --snapshots`, `chronicle watch --install FOLDER`, `chronicle prune`"],
  ["listbackups listlocalsnapshots", "`chronicle list --snapshots`"],
  ["startbackup localsnapshot", "`chronicle snapshot`"],
  ["addexclusion exclude ignore", "`chronicle config excludePatterns NAME`"],
  ["thinlocalsnapshots deletelocalsnapshots thin", "`chronicle prune`, then `chronicle gc`"],
  ["timeline recent events", "`chronicle list`; single events: `chronicle log`"],
  ["compare", "`chronicle diff MOMENT -p`"],
  ["earlier back goto travel", "`chronicle restore 10m`, or with a file `chronicle restore 10m FILE`"],
  ["later forward", "`chronicle redo`"],
  ["label mark", "`chronicle snapshot --name NAME`"],
  ["recover undelete", "`chronicle history NAME` finds a deleted file; `chronicle restore latest FILE` brings it back"],
  // Agents
  ["checkpoint", "`chronicle snapshot --name NAME`"],
  ["checkpoints checkpointing", "`chronicle actions`; of all that happened: `chronicle list`"],
  ["prompts", "`chronicle turns`"],
  ["fork", "`chronicle rewind --conversation` copies a conversation up to a prompt"],
  ["chat resume", "none: `chronicle rewind --conversation` says how the agent's own conversation goes back"],
  ["cleanupPeriodDays", "`chronicle config max_age_days DAYS`"],
  ["uninstall", "`chronicle agents uninstall`, `chronicle watch --uninstall FOLDER` and `chronicle forget`"],
  ["install hooks", "`chronicle agents install NAME`; for a folder: `chronicle watch --install FOLDER`"],
  [
    "record-command exec replay",
    "`chronicle run -- COMMAND` records a command; `chronicle restore MOMENT` goes to a state",
  ],
  // Snapshots before actions, transactions
  [
    "storage.Open storage.DB open ChronicleConfig",
    "`chronicle init`; in a program: `open({home, folder, create: true})`",
  ],
  ["close", "`chronicle watch --uninstall FOLDER` ends a watch; in a program: `close()` of the opened store"],
  [
    "ActionRequest SnapshotAction take_snapshot",
    "`chronicle hook` before a tool call; `chronicle run -- COMMAND`; in a program: `snapshotAction({type, payload})`",
  ],
  ["write_file", "`chronicle put FILE` writes a file; in a program: `snapshotAction({type, payload})`"],
  ["delete_file", "`chronicle rm FILE`; in a program: `snapshotAction({type, payload})`"],
  ["move_file", "`chronicle mv FROM TO`; in a program: `snapshotAction({type, payload})`"],
  ["read_file", "`chronicle cat FILE`; in a program: `readFile(path)`"],
  ["list_directory list_files", "`chronicle files`; in a program: `listFiles()`"],
  ["search_files", "`chronicle grep PATTERN`"],
  [
    "FileChange FromSnapshot ToSnapshot diff_action",
    "`chronicle diff 1 2 --json` has `path`, `change_type` …; in a program: `diff(id)`",
  ],
  ["SnapshotMetadata", "`chronicle actions --json`; in a program: `list()`"],
  ["verify_integrity ErrIntegrityViolation", "`chronicle verify`; in a program: `verifyIntegrity()`"],
  ["ErrSnapshotNotFound", "the code `NOT_FOUND`; `chronicle list --snapshots` lists what there is"],
  ["max_snapshots", "`max_snapshots` of `chronicle config max_snapshots N`"],
  ["max_age_days config.yaml", "`max_age_days` of `chronicle config max_age_days N`"],
  ["begin_transaction begin", "`chronicle transaction begin`; in a program: `beginTransaction()`"],
  ["rolled_back rollback_transaction", "`chronicle transaction rollback ID`; in a program: `transactions()`"],
  ["otr off_record", "`chronicle run --otr -- COMMAND`; in a program: `offRecord(work)`"],
  [
    "Shield Shield.Evaluate",
    "none: rules on what an agent may do are the caller's; `chronicle status` shows the rules",
  ],
  // Baselines and increments
  ["SnapshotManager", "`chronicle init PATH`, then `chronicle snapshot`; in a program: `init({roots})`"],
  ["create_baseline baseline", "`chronicle init`; in a program: `init()`"],
  [
    "create_incremental incremental",
    "`chronicle snapshot`, then `chronicle diff latest~1 latest`; in a program: `snapshot()`",
  ],
  ["restore_to restore_snapshot", "`chronicle restore MOMENT`; in a program: `restore(n)`"],
  [
    "compute_restore_diff restore_diff",
    "`chronicle restore MOMENT --dry-run`; in a program: `restore(n, {dryRun: true})`",
  ],
  [
    "load_manifest SnapshotManifest FileState ContentHash",
    "`chronicle manifest MOMENT --json` has `root` and `files`, each with its `hash`; in a program: `manifest(n)`",
  ],
  ["merkle_root", "`chronicle manifest MOMENT --json` has `root`; in a program: `manifest(n)`"],
  [
    "Change change_type size_delta",
    "`chronicle diff 1 2 --json` has `path`, `change_type`, `size_delta`; in a program: `diff(a, b)`",
  ],
  [
    "ExclusionConfig use_gitignore exclude_patterns exclude_globs force_include",
    "`chronicle config` has `useGitignore`, `excludePatterns`, `excludeGlobs`, `forceInclude`; `chronicle init --exclude NAME`",
  ],
  ["max_entries", "`chronicle init --max-entries 1000`; in a program: `maxEntries`"],
  ["max_bytes", "`chronicle init --max-bytes 2GiB`; in a program: `maxBytes`"],
  ["SessionMetadata session", "`chronicle show ID --json`; `chronicle sessions`; in a program: `session(id)`"],
  ["session_id exit_code merkle_roots to_json", "`chronicle show ID --json`"],
  [
    "network_events set_network_events",
    "`chronicle run --network-events FILE -- COMMAND`; in a program: `run({networkEvents})`",
  ],
  // Iterations, gateways and local folders
  ["file_history", "`chronicle history FILE`; in a program: `fileHistory(path)`"],
  ["file_at_iteration", "`chronicle cat FILE@N`; in a program: `fileAtIteration(path, n)`"],
  ["PodiumClient", "`chronicle list --remote URL`; in a program: `createClient()`"],
  ["start_sync TauriGatewayAdapter", "`chronicle sync start URL DIR`; in a program: `syncBridge()`"],
  ["stop_sync", "`chronicle sync stop`; in a program: `syncBridge()`"],
  ["sync_status", "`syncBridge()` in a program: `SyncStatus`; `chronicle sync status`"],
  ["resolve_conflict ConflictResolution", "`chronicle sync resolve PATH --merge`; in a program: `syncBridge()`"],
  [
    "local-sync RecommendedWatcher notify-debouncer-full",
    "nothing to build: `chronicle sync start URL DIR`, with `--debounce` and `--editor-files`",
  ],
  [
    "LocalMaterializer FsWatcher WriteJournal EventHandler",
    "inside only: `chronicle sync start URL DIR` does their work",
  ],
  // Replication
  [
    "ACK WriteBack WriteBackResult CatchupRequest FullResyncRequired",
    "messages of docs/protocol.md (`Ack`, `WriteBack` …), which `chronicle replicate DIR --ws-connect URL` exchanges",
  ],
  [
    "up_to_sequence since_sequence master_rowid_seen",
    "fields of the messages of docs/protocol.md; `chronicle log` shows the sequences",
  ],
  [
    "DirectionalFilter FilterPattern add_pattern",
    "`new DirectionalFilter()` in a program; `--filter-to` and `--filter-from` of `chronicle sync start URL DIR`",
  ],
  ["PushChannelManager WritebackLoop", "inside only: `chronicle replicate DIR --connect SOCKET` does their work"],
  ["connect ws-connect", "`chronicle replicate DIR --connect SOCKET`, or `chronicle replicate DIR --ws-connect URL`"],
  ["replication", "`chronicle serve --replication`"],
  // Records
  ["ChronoStore", "`chronicle record`; in a program: `openRecordStore({folder})`"],
  ["upsert", "`chronicle record put ID`; in a program: `upsert()` of `openRecordStore({folder})`"],
  ["chain_valid", "`chronicle verify`; in a program: `chainValid()` of `openRecordStore({folder})`"],
  ["chronomemory .chronomemory/events.wal", "`chronicle import --from chronomemory FILE`"],
  [
    "events.wal snapshot.json prev_hash record_id",
    "`chronicle log --json` has the events, with the same names: `seq`, `record_id`, `prev_hash` …",
  ],
];

/**
 * Options of other tools. Words are separated by blanks. `chronicle COMMAND --option` prints the hint if the command
 * does not have the option. A row that begins with `COMMAND:` holds for this command only, and comes first. In such a
 * row, `REV` stands for an argument too many.
 */
const OPTIONS: readonly Row[] = [
  [
    "log: --oneline --all --decorate --author --since --until --before --after --grep --follow",
    "`chronicle list` has a line for each piece of work, and takes `--since`, `--actor`, `--file`, `--grep`",
  ],
  ["log: -p --patch --stat", "`chronicle changes --action ID -p`, `chronicle show -p` or `chronicle diff 3 4 -p`"],
  ["log: -G", "`chronicle grep PATTERN --history`"],
  ["diff: --from --to --at -r --revision", "the moments are arguments: `chronicle diff 3 5`"],
  ["status: -s --short --porcelain", "`chronicle status --json` is for programs"],
  [
    "restore: -i -p --patch --interactive",
    "`chronicle undo -i`, or lines of the present file: `chronicle undo FILE:10-20`",
  ],
  [
    "restore: --source -s --from --at --rev -r --hard --worktree",
    "the moment is an argument: `chronicle restore MOMENT FILE`",
  ],
  ["restore: --include --path", "the paths are arguments: `chronicle restore MOMENT PATH --to DIR`"],
  [
    "undo: --hard --soft --mixed --keep --at",
    "`chronicle undo --to MOMENT`; everything as it was: `chronicle restore MOMENT`",
  ],
  ["rewind: --hard --all --code", "`chronicle rewind TURN --everything`"],
  [
    "init: --bare --separate-git-dir --repo -r --session-dir",
    "a store holds all histories: `chronicle --store DIR init`",
  ],
  ["gc: --prune --aggressive --auto", "`chronicle gc` frees what was given up; `chronicle prune` gives up old moments"],
  ["snapshot: -a --all --allow-empty --include", "`chronicle snapshot` records all that is not left out"],
  ["snapshot: --exclude", "`chronicle config excludePatterns NAME`"],
  ["blame: REV --rev -r", "`chronicle blame FILE --at MOMENT`"],
  ["bisect: --good", "`chronicle bisect --from MOMENT -- TEST`"],
  ["bisect: --bad", "`chronicle bisect --to MOMENT -- TEST`"],
  ["--staged --cached --index", "nothing is staged; `chronicle diff` compares with the last snapshot"],
  ["--amend --no-edit --fixup", "history is never rewritten; `chronicle snapshot -m TEXT` adds a mark"],
  [
    "--oneline --decorate --pretty",
    "`chronicle list` has a line for each piece of work; `chronicle list --json` is for programs",
  ],
  ["--format --porcelain --output -o", "`--json` is for programs, as in `chronicle list --json`"],
  ["--name-only --name-status --summary --compact-summary", "`chronicle diff` lists the paths; `-p` shows the lines"],
  ["--stat --numstat --shortstat", "`chronicle diff --stat`"],
  ["--patch -p -u", "`chronicle diff -p`, `chronicle changes -p` or `chronicle history FILE -p`"],
  ["--follow", "`chronicle history FILE`, `chronicle blame FILE`; renames are found by themselves"],
  ["--author --committer --user --host --agent", "`chronicle list --actor NAME`"],
  [
    "--until --before --after --since --last --newer-than",
    "`chronicle list --since 10m`; up to a moment: `chronicle undo --since 2h --until 1h`",
  ],
  ["--max-count --count -n", "`--limit N`, as in `chronicle list --limit 20`"],
  ["--hard --soft --mixed", "`chronicle restore MOMENT`"],
  ["--tag --label", "`chronicle snapshot --name NAME`"],
  ["--description --comment", "`chronicle snapshot -m TEXT`"],
  ["--target --destination --dest --output-dir", "`chronicle restore MOMENT --to DIR`"],
  ["--include --path --paths", "paths are arguments, as in `chronicle restore MOMENT PATH`"],
  [
    "--exclude --exclude-patterns --exclude-globs --iexclude",
    "`chronicle init --exclude NAME`, or `chronicle config excludePatterns NAME`",
  ],
  ["--force-include", "`chronicle config forceInclude NAME`"],
  ["--use-gitignore", "the default; `chronicle init --no-gitignore` turns it off"],
  [
    "--keep-last --keep-hourly --keep-daily --keep-weekly --keep-monthly --keep-yearly --keep-within",
    "`chronicle prune --keep-last 7`; here, `chronicle forget ID` gives up a whole history",
  ],
  ["--max-snapshots", "`chronicle config max_snapshots N`, or once: `chronicle prune --max-snapshots 100`"],
  ["--max-age-days", "`chronicle config max_age_days N`, or once: `chronicle prune --max-age-days 30`"],
  ["--read-data --check-unused", "`chronicle verify` reads all contents; `chronicle verify --quick` does not"],
  ["--repair --fix", "`chronicle verify --repair-from PLACE`; `chronicle rebuild` makes the index anew"],
  ["--password-file --password-command --key-file --encryption", "none: the store is not encrypted"],
  [
    "--repo --repository --git-dir --session-dir --db",
    "`--store DIR` before or after the command, as in `chronicle --store DIR list`",
  ],
  ["--work-tree --cwd --dir --folder", "`-C DIR`, as in `chronicle -C DIR status`"],
  ["--quiet --verbose -q -v -vv", "none: `--json` gives all that there is, as in `chronicle status --json`"],
  [
    "--local-sync --features",
    "nothing to switch on: `chronicle sync start URL DIR`, or `chronicle replicate DIR --ws-connect URL`",
  ],
  ["--ws-connect", "`chronicle replicate DIR --ws-connect URL`"],
  ["--connect", "`chronicle replicate DIR --connect SOCKET`"],
  ["--replication", "`chronicle serve --replication`"],
  [
    "--filter-to --filter-from --policy --debounce",
    "an option of `chronicle sync start URL DIR` and `chronicle replicate DIR`",
  ],
  ["--keep-local --ours", "`chronicle sync resolve PATH --keep-local`"],
  ["--accept-upstream --theirs", "`chronicle sync resolve PATH --accept-upstream`"],
  [
    "--abort --continue --skip",
    "nothing is left half done; `chronicle conflicts` lists what `chronicle resolve PATH` settles",
  ],
  [
    "--rev --revision --revisions --at-op --at-operation --rewind",
    "a moment is an argument, as in `chronicle restore MOMENT`; of files: `chronicle files --at MOMENT`",
  ],
  [
    "--dry-run",
    "this command changes no file; `chronicle restore MOMENT --dry-run` and `chronicle undo --dry-run` show what would change",
  ],
  ["--no-verify --no-gpg-sign -S --gpg-sign", "events are signed by themselves; `chronicle verify` checks them"],
  ["--network-events", "`chronicle run --network-events FILE -- COMMAND`"],
  ["--watch --follow-changes -f", "`chronicle watch` records each change"],
];

/** Returns the form in which words are compared, so that `create_incremental` and `createIncremental()` are equal. */
function keyOf(word: string): string {
  return word
    .replace(/\(.*$/s, "")
    .replace(/(?:::|\.)new$/, "")
    .replaceAll(/[^\p{L}\p{N}]/gu, "")
    .toLowerCase();
}

const BY_KEY: ReadonlyMap<string, string> = new Map(
  COMMANDS.flatMap(([words, hint]) => words.split(" ").map((word) => [keyOf(word), hint] as const)),
);

const BY_OPTION: ReadonlyMap<string, string> = new Map(
  OPTIONS.flatMap(([words, hint]) => {
    const [first = "", ...rest] = words.split(" ");
    const flags = first.endsWith(":") ? rest.map((flag) => `${first} ${flag}`) : [first, ...rest];
    return flags.map((flag) => [flag, hint] as const);
  }),
);

/** Returns the hint for a command's, method's or type's name in another tool; `undefined` if there is none. */
export function sameHere(word: string): string | undefined {
  return BY_KEY.get(keyOf(word));
}

/**
 * Returns the hint for an option of another tool; `undefined` if there is none. `flag` may have a value (`--a=b`).
 * `command`: the command that does not have the option.
 */
export function sameOption(flag: string, command?: string): string | undefined {
  const [name = ""] = flag.split("=", 1);
  return BY_OPTION.get(`${command}: ${name}`) ?? BY_OPTION.get(name);
}

/** True for two words that differ only in case, punctuation or arguments, such as `/rewind` and `rewind`. */
export function isSameWord(one: string, other: string): boolean {
  return keyOf(one) === keyOf(other);
}

/** The words that `sameHere` knows. */
export const FOREIGN_WORDS: readonly string[] = COMMANDS.flatMap(([words]) => words.split(" "));

/** The options that `sameOption` knows: each with the command for which it holds, if it is not for all. */
export const FOREIGN_OPTIONS: readonly string[] = [...BY_OPTION.keys()];
