import { dropAt, isObject, type JsonPath, malformed, putAt, readJsonc } from "./json-edit.ts";

/** Matches the command line of the hook as any version of Chronicle, or of Chronicle's plugin, has written it. */
const OURS = /chronicle-hook['"]?\s+(claude|codex|gemini|opencode|cursor|copilot)\b/;

/**
 * A group of hooks at an event. `group` has the form `{matcher?, hooks: [{type: "command", command, …}]}`. The files of
 * Cursor and Copilot CLI have no groups: `group` is then the hook itself, with its command in `command` or `bash`.
 */
export interface HookGroup {
  readonly event: string;
  readonly group: Readonly<Record<string, unknown>>;
}

function groupsAt(text: string, event: string): readonly unknown[] {
  const { hooks } = readJsonc(text);
  if (hooks === undefined) return [];
  if (!isObject(hooks)) throw malformed(`"hooks" is no object`);
  const groups = hooks[event];
  if (groups === undefined) return [];
  if (!Array.isArray(groups)) throw malformed(`"hooks.${event}" is no list`);
  return groups;
}

function hooksOf(group: unknown): readonly unknown[] {
  if (!isObject(group)) return [];
  return Array.isArray(group["hooks"]) ? group["hooks"] : [group];
}

function ourCommand(hook: unknown): string | undefined {
  const command = isObject(hook) ? (hook["command"] ?? hook["bash"]) : undefined;
  return typeof command === "string" && OURS.test(command) ? command : undefined;
}

function isOurs(group: unknown): boolean {
  const hooks = hooksOf(group);
  return hooks.length > 0 && hooks.every((hook) => ourCommand(hook) !== undefined);
}

function ourHooks(text: string): (readonly [event: string, commands: readonly string[]])[] {
  const { hooks } = readJsonc(text);
  if (!isObject(hooks)) return [];
  return Object.entries(hooks).map(([event, groups]) => {
    const all = Array.isArray(groups) ? groups.flatMap(hooksOf) : [];
    return [event, all.flatMap((hook) => ourCommand(hook) ?? [])];
  });
}

export function ourCommands(text: string): string[] {
  return [...new Set(ourHooks(text).flatMap(([, commands]) => commands))];
}

/**
 * Returns the wanted events that have no hook of Chronicle. Returns an empty list if no event at all has such a hook,
 * because the hooks are then not installed.
 */
export function missingEvents(text: string, wanted: readonly string[]): string[] {
  const there = new Set(ourHooks(text).flatMap(([event, commands]) => (commands.length > 0 ? [event] : [])));
  return there.size === 0 ? [] : wanted.filter((event) => !there.has(event));
}

/**
 * Returns the place of each hook of Chronicle: the event, the index of the group, and the index of the hook in the
 * group.
 */
export function ourPlaces(text: string): { readonly event: string; readonly group: number; readonly hook: number }[] {
  const { hooks } = readJsonc(text);
  if (!isObject(hooks)) return [];
  return Object.entries(hooks).flatMap(([event, groups]) =>
    (Array.isArray(groups) ? groups : []).flatMap((one: unknown, group) =>
      hooksOf(one).flatMap((each, hook) => (ourCommand(each) === undefined ? [] : [{ event, group, hook }])),
    ),
  );
}

/** Returns the events other than `before` at which a hook of Chronicle has `--strict`. */
export function misplacedStrict(text: string, before: string): string[] {
  return ourHooks(text).flatMap(([event, commands]) =>
    event !== before && commands.some((command) => command.includes(" --strict")) ? [event] : [],
  );
}

/**
 * Returns the text with exactly one hook of Chronicle for each wanted event. The hook is put into the first of these
 * places that exists:
 * - the first group that has only hooks of Chronicle; the wanted group replaces this group
 * - the first group that has a hook of Chronicle among other hooks, and has the wanted `matcher`; only Chronicle's hook
 *   in this group is replaced
 * - the end of the event's list, to which the wanted group is appended
 *
 * All other hooks of Chronicle at the wanted events are removed.
 */
export function putHooks(text: string, wanted: readonly HookGroup[]): string {
  return wanted.reduce(putGroup, text);
}

function putGroup(text: string, { event, group }: HookGroup): string {
  const groups = groupsAt(text, event);
  const whole = groups.findIndex(isOurs);
  const at = whole >= 0 ? whole : groups.findIndex((one) => isShared(one, group));
  // The index `at` stays valid: `dropFrom` removes only groups for which `isOurs` is true, and no such group is before
  // `at`.
  const result = dropFrom(text, event, groups, at);
  const path: JsonPath = ["hooks", event];
  if (groups.length === 0) return putAt(result, path, [group]);
  if (at < 0) return putAt(result, [...path, groups.length], group);
  if (whole >= 0) return putOver(result, [...path, at], { present: groups[at], value: group });
  const index = ourIndex(groups[at]);
  const present = hooksOf(groups[at])[index];
  const alone = dropWithin(result, { event, at, group: groups[at] }, index);
  return putOver(alone, [...path, at, "hooks", index], { present, value: hooksOf(group)[0] });
}

/**
 * Returns the text with `value` in place of `present`. If the values are equal, returns the text unchanged, so that its
 * formatting stays.
 */
function putOver(
  text: string,
  path: JsonPath,
  { present, value }: { readonly present: unknown; readonly value: unknown },
): string {
  return JSON.stringify(present) === JSON.stringify(value) ? text : putAt(text, path, value);
}

function ourIndex(group: unknown): number {
  return hooksOf(group).findIndex((hook) => ourCommand(hook) !== undefined);
}

function isShared(present: unknown, wanted: HookGroup["group"]): boolean {
  return isObject(present) && present["matcher"] === wanted["matcher"] && ourIndex(present) >= 0;
}

/** Returns the text without Chronicle's hooks. Lists and objects that become empty are removed as well. */
export function dropHooks(text: string): string {
  const { hooks } = readJsonc(text);
  if (!isObject(hooks)) return text;
  let result = text;
  for (const [event, groups] of Object.entries(hooks)) {
    if (Array.isArray(groups)) result = dropFrom(result, event, groups);
  }
  const left = readJsonc(result)["hooks"];
  return result !== text && isObject(left) && Object.keys(left).length === 0 ? dropAt(result, ["hooks"]) : result;
}

/**
 * Returns the text without Chronicle's hooks at an event. If no group is left, the event is removed as well. `kept`:
 * the index of a group that is not changed (default: none).
 */
function dropFrom(text: string, event: string, groups: readonly unknown[], kept = -1): string {
  let result = text;
  let left = groups.length;
  for (let at = groups.length - 1; at >= 0; at -= 1) {
    if (at === kept) continue;
    if (isOurs(groups[at])) {
      result = dropAt(result, ["hooks", event, at]);
      left -= 1;
    } else result = dropWithin(result, { event, at, group: groups[at] });
  }
  return left === 0 && groups.length > 0 ? dropAt(result, ["hooks", event]) : result;
}

/** Returns the text without Chronicle's hooks in a group. `kept`: the index of a hook that stays (default: none). */
function dropWithin(
  text: string,
  place: { readonly event: string; readonly at: number; readonly group: unknown },
  kept = -1,
): string {
  const { event, at, group } = place;
  const hooks = hooksOf(group);
  let result = text;
  for (let inner = hooks.length - 1; inner >= 0; inner -= 1) {
    if (inner !== kept && ourCommand(hooks[inner]) !== undefined)
      result = dropAt(result, ["hooks", event, at, "hooks", inner]);
  }
  return result;
}
