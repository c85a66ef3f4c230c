import { isMap, isScalar, LineCounter, parseDocument } from "yaml";
import { ChronicleError } from "../values/errors.ts";
import { faultOf, RETENTION_KEYS, type RetentionConfig, type RetentionKey } from "./retention.ts";

function isKey(key: unknown): key is RetentionKey {
  return (RETENTION_KEYS as readonly unknown[]).includes(key);
}

/**
 * Returns the settings in the section `chronicle:` of a file. Returns an empty object if the file has no such section.
 * Throws `USAGE` if the text or the section is not a YAML map, or if the section has an unknown key or an invalid
 * value. The message names the line and the file (`file`).
 */
export function parseRetentionConfig(text: string, file: string): RetentionConfig {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true });
  const wrong = (offset: number, what: string, hint: string): never => {
    const { line } = lines.linePos(offset);
    throw new ChronicleError("USAGE", `${file}, line ${line}: ${what}`, { hint, data: { file, line } });
  };
  const [fault] = document.errors;
  if (fault !== undefined) {
    return wrong(
      fault.pos[0],
      `this is not YAML: ${fault.message.split("\n")[0]}`,
      "mend that line, or remove the file",
    );
  }
  if (document.contents === null) return {};
  if (!isMap(document.contents)) return wrong(0, "this file has no sections", EXAMPLE);
  const section: unknown = document.contents.get("chronicle", true);
  if (section === undefined || (isScalar(section) && section.value === null)) return {};
  if (!isMap(section)) return wrong(offsetOf(section), "chronicle: holds no settings", EXAMPLE);
  const config: { -readonly [Key in RetentionKey]?: number } = {};
  for (const { key, value } of section.items) {
    const name = isScalar(key) ? key.value : undefined;
    if (!isKey(name))
      return wrong(offsetOf(key), `there is no setting ${String(name)}`, `settings: ${RETENTION_KEYS.join(", ")}`);
    const given = isScalar(value) ? value.value : undefined;
    const fault = faultOf(name, given);
    if (fault !== undefined) return wrong(offsetOf(value ?? key), fault, EXAMPLE);
    config[name] = given as number;
  }
  return config;
}

const EXAMPLE = "for example: `chronicle:` and, indented beneath it, `max_snapshots: 100`";

function offsetOf(node: unknown): number {
  return (node as { readonly range?: readonly number[] | null } | null)?.range?.[0] ?? 0;
}
