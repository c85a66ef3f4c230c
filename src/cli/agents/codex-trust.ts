import { NodeDisk } from "../../disk/node-disk.ts";
import { orNothing } from "../../daemon/proc.ts";
import { readTextIfThere } from "../../process/user-files.ts";
import { isObject } from "./json-edit.ts";
import { ourPlaces } from "./json-hooks.ts";
import { readToml, tomlMisfit } from "./toml-mcp.ts";

/**
 * Returns the events whose Chronicle hook Codex skips, because nobody has accepted it with `/hooks`, or somebody
 * switched it off there. Codex (0.169) keeps that in its user's `config.toml`:
 * `[hooks.state."<file>:pre_tool_use:<group>:<hook>"]`. This does not tell whether the hook is still the accepted one:
 * the hash beside it is Codex's own.
 */
export function unacceptedEvents(hooksFile: string, configFile: string): string[] {
  const text = orNothing(() => readTextIfThere(hooksFile));
  if (text === undefined) return [];
  const states = statesIn(orNothing(() => readTextIfThere(configFile)) ?? "");
  const names = [hooksFile, orNothing(() => new NodeDisk().realpath(hooksFile)) ?? hooksFile];
  return ourPlaces(text).flatMap(({ event, group, hook }) => {
    const place = `${snakeCase(event)}:${group}:${hook}`;
    const state = names.map((name) => states[`${name}:${place}`]).find((one) => one !== undefined);
    const isOn = isObject(state) && typeof state["trusted_hash"] === "string" && state["enabled"] !== false;
    return isOn ? [] : [event];
  });
}

function statesIn(config: string): Readonly<Record<string, unknown>> {
  // Codex does not start with an invalid file, and reports it.
  if (tomlMisfit(config) !== undefined) return {};
  const { hooks } = readToml(config);
  const state = isObject(hooks) ? hooks["state"] : undefined;
  return isObject(state) ? state : {};
}

function snakeCase(event: string): string {
  return event.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}
