import { dropAt, isObject, type JsonPath, malformed, putAt, readJsonc } from "./json-edit.ts";

/** Any form in which Chronicle's hook was ever installed, or stands in its plugin. */
const OURS = /chronicle-hook['"]?\s+(claude|codex|gemini)\b/;

/** One group of hooks: `{matcher, hooks: [{type: "command", command}]}`. */
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

function commandsOf(group: unknown): string[] {
  const hooks = isObject(group) && Array.isArray(group["hooks"]) ? group["hooks"] : [];
  return hooks.flatMap((hook: unknown) =>
    isObject(hook) && typeof hook["command"] === "string" ? [hook["command"]] : [],
  );
}

function isOurs(group: unknown): boolean {
  const commands = commandsOf(group);
  return commands.length > 0 && commands.every((command) => OURS.test(command));
}

/** Chronicle's own command lines among the hooks, by event. */
function ourHooks(text: string): (readonly [event: string, commands: readonly string[]])[] {
  const { hooks } = readJsonc(text);
  if (!isObject(hooks)) return [];
  return Object.entries(hooks).map(([event, groups]) => {
    const all = Array.isArray(groups) ? groups.flatMap(commandsOf) : [];
    return [event, all.filter((command) => OURS.test(command))];
  });
}

/** Chronicle's own command lines among the hooks. */
export function ourCommands(text: string): string[] {
  return [...new Set(ourHooks(text).flatMap(([, commands]) => commands))];
}

/** Of these events those that have none, where any has. */
export function missingEvents(text: string, wanted: readonly string[]): string[] {
  const there = new Set(ourHooks(text).flatMap(([event, commands]) => (commands.length > 0 ? [event] : [])));
  return there.size === 0 ? [] : wanted.filter((event) => !there.has(event));
}

/** Where Chronicle's own hooks stand: event, place of the group, place in it. */
export function ourPlaces(text: string): { readonly event: string; readonly group: number; readonly hook: number }[] {
  const { hooks } = readJsonc(text);
  if (!isObject(hooks)) return [];
  return Object.entries(hooks).flatMap(([event, groups]) =>
    (Array.isArray(groups) ? groups : []).flatMap((one: unknown, group) =>
      commandsOf(one).flatMap((command, hook) => (OURS.test(command) ? [{ event, group, hook }] : [])),
    ),
  );
}

/** Events other than `before` at which a hook of Chronicle's may stop the agent. */
export function misplacedStrict(text: string, before: string): string[] {
  return ourHooks(text).flatMap(([event, commands]) =>
    event !== before && commands.some((command) => command.includes(" --strict")) ? [event] : [],
  );
}

/** The text with each group once, behind those that stand there. */
export function putHooks(text: string, wanted: readonly HookGroup[]): string {
  let result = text;
  for (const { event, group } of wanted) {
    const groups = groupsAt(result, event);
    const at = groups.findIndex(isOurs);
    if (at >= 0 && JSON.stringify(groups[at]) === JSON.stringify(group)) continue;
    const path: JsonPath = ["hooks", event];
    if (groups.length === 0) result = putAt(result, path, [group]);
    else if (at >= 0) result = putAt(result, [...path, at], group);
    else result = putAt(result, [...path, groups.length], group);
  }
  return result;
}

/** The text without Chronicle's hooks: lists and objects that are empty then go too. */
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

function dropFrom(text: string, event: string, groups: readonly unknown[]): string {
  let result = text;
  let left = groups.length;
  for (let at = groups.length - 1; at >= 0; at -= 1) {
    if (isOurs(groups[at])) {
      result = dropAt(result, ["hooks", event, at]);
      left -= 1;
    } else result = dropWithin(result, { event, at, group: groups[at] });
  }
  return left === 0 && groups.length > 0 ? dropAt(result, ["hooks", event]) : result;
}

/** Chronicle's hook in a group that somebody else's is in as well. */
function dropWithin(
  text: string,
  place: { readonly event: string; readonly at: number; readonly group: unknown },
): string {
  const { event, at, group } = place;
  let result = text;
  const hooks: unknown[] = isObject(group) && Array.isArray(group["hooks"]) ? group["hooks"] : [];
  for (let inner = hooks.length - 1; inner >= 0; inner -= 1) {
    const hook = hooks[inner];
    if (isObject(hook) && typeof hook["command"] === "string" && OURS.test(hook["command"])) {
      result = dropAt(result, ["hooks", event, at, "hooks", inner]);
    }
  }
  return result;
}
