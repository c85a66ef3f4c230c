/** The commands that the engine's hints and notes name, as calls of tools; longer commands first. */
const CALLS: readonly (readonly [command: RegExp, call: string])[] = [
  [/chronicle (undo|redo) (\w[\w-]{7,}) --force/g, '$1 {"operation":"$2","force":true}'],
  [/chronicle (undo|redo) (\w[\w-]{7,})/g, '$1 {"operation":"$2"}'],
  [/chronicle undo --(action|session) (\w[\w-]*)/g, 'undo {"$1":"$2"}'],
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

/** Returns a hint or a note with calls of tools in place of the commands that a tool stands for. */
export function inCalls(text: string): string {
  return CALLS.reduce((so, [command, call]) => so.replaceAll(command, call), text);
}

/** Matches a command of the command line, or an option. */
const COMMAND = /\bchronicle [a-z-]|(?<![\w-])--[a-z]/;

/** The options that are arguments of tools, too. */
const ARGUMENTS = ["force", "dry_run"] as const;

/**
 * Returns an error's hint for a model that called a tool with these arguments: with calls of tools, and the tool's own
 * arguments. A hint that names other commands is for the person, and begins with these words.
 */
export function hintInTools(hint: string, args: ReadonlySet<string>): string {
  const known = ARGUMENTS.filter((one) => args.has(one));
  const told = known.reduce((so, one) => {
    const option = new RegExp(`\`?(?<![\\w-])--${one.replace("_", "-")}(?![\\w-])\`?`, "g");
    return so.replaceAll(option, `\`"${one}":true\``);
  }, inCalls(hint));
  return COMMAND.test(told) ? `for a person, on the command line: ${hint}` : told;
}
