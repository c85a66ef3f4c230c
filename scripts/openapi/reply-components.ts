import { join } from "node:path";
import { createGenerator } from "ts-json-schema-generator";
import { isSchema, type JsonSchema } from "./json-schema.ts";

const repo = join(import.meta.dirname, "..", "..");

/**
 * Returns the shapes of `reply-shapes.ts`, and the types to which they refer, as `components.schemas` of OpenAPI 3.1.
 * The schemas are generated from the types and their comments.
 */
export function replyComponents(): Record<string, JsonSchema> {
  const generator = createGenerator({
    path: join(repo, "src/api/routes/reply-shapes.ts"),
    tsconfig: join(repo, "tsconfig.json"),
    type: "ReplyShapes",
    expose: "export",
    jsDoc: "extended",
    skipTypeCheck: true,
    // A newer server may send further fields.
    additionalProperties: true,
  });
  const { ReplyShapes: all, ...shapes } = generator.createSchema("ReplyShapes").definitions ?? {};
  const plain = isSchema(all) && isSchema(all["properties"]) ? all["properties"] : {};
  // The generator makes no definition for a shape that is a plain string.
  const texts = Object.entries(plain).filter(([name]) => !(name in shapes));
  const named = [...Object.entries(shapes), ...texts].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(named.map(([name, schema]) => [name, modern(schema) as JsonSchema]));
}

/** Converts a schema from draft 7, which the generator uses, to 2020-12, which OpenAPI 3.1 uses. */
function modern(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(modern);
  if (!isSchema(schema)) return schema;
  const { items, additionalItems: _, ...others } = schema;
  const rest = Object.entries(others).map(([key, value]) => [key, key === "$ref" ? refOf(value) : modern(value)]);
  const list = items === undefined ? {} : { [Array.isArray(items) ? "prefixItems" : "items"]: modern(items) };
  return { ...Object.fromEntries(rest), ...list };
}

function refOf(ref: unknown): string {
  return String(ref).replace("#/definitions/", "#/components/schemas/");
}
