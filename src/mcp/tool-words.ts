/**
 * Maps the commands in the engine's hints and notes to calls of tools. The patterns are applied in this order. If one
 * command is the beginning of another, the pattern of the longer command must come first.
 */
const CALLS: readonly (readonly [command: RegExp, call: string])[] = [
  [/chronicle (undo|redo) (\w[\w-]{7,}) --force/g, '$1 {"operation":"$2","force":true}'],
  [/chronicle (undo|redo) (\w[\w-]{7,})/g, '$1 {"operation":"$2"}'],
  [/chronicle undo --(action|session|turn) (\w[\w-]*)/g, 'undo {"$1":"$2"}'],
  [/chronicle changes --(action|session) (\w[\w-]*)/g, 'what_changed {"$1":"$2"}'],
  [/chronicle resolve ([\w-]+) --keep-current/g, 'resolve_conflict {"conflict":"$1","keep":"current"}'],
  [/chronicle transaction (commit|rollback) ([\w-]+)/g, '$1_transaction {"id":"$2"}'],
  [/chronicle transaction list/g, "list_transactions"],
  [/chronicle restore ((?:seq:)?\w+) PATH(?:\.\.\.)?/g, 'restore {"moment":"$1","paths":["PATH"]}'],
  [/chronicle restore (seq:\d+)(?=`)/g, 'restore {"moment":"$1"}'],
  [/chronicle restore MOMENT(?=`)/g, "restore"],
  [/chronicle list(?: --snapshots)?(?=`)/g, "list_history"],
  [/chronicle history (FILE|PATH)(?=`)/g, "file_history"],
  [/chronicle actions(?=`)/g, "list_actions"],
  [/chronicle conflicts(?=`)/g, "list_conflicts"],
  [/chronicle (undo|redo|status|verify)(?=`)/g, "$1"],
];

/** Returns the text with a call of a tool in place of each command that `CALLS` contains. */
export function inCalls(text: string): string {
  return CALLS.reduce((so, [command, call]) => so.replaceAll(command, call), text);
}

/** Matches a command or an option of the command line. */
const COMMAND = /\bchronicle [a-z-]|(?<![\w-])--[a-z]/;

/** Options of the command line that some tools also take as arguments. */
const ARGUMENTS = ["force", "dry_run"] as const;

/**
 * Rewrites an error's hint for a model. Commands become calls of tools. Options become arguments of the tool that has
 * failed, if they are among its arguments (`args`). If the result still names a command or an option, the hint is for a
 * person: the function then returns the unchanged hint with a prefix that says so.
 */
export function hintInTools(hint: string, args: ReadonlySet<string>): string {
  const known = ARGUMENTS.filter((one) => args.has(one));
  const told = known.reduce((so, one) => {
    const option = new RegExp(`\`?(?<![\\w-])--${one.replace("_", "-")}(?![\\w-])\`?`, "g");
    return so.replaceAll(option, `\`"${one}":true\``);
  }, inCalls(hint));
  return COMMAND.test(told) ? `for a person, on the command line: ${hint}` : told;
}
