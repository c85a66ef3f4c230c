type Present<T extends object> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

/**
 * Returns the fields that are not `undefined`. The result fits a type whose optional fields may be missing, but must
 * not be `undefined`. Example: `{ id, ...optional({ hint }) }`.
 */
export function optional<T extends object>(fields: T): Present<T> {
  const present: { [Name in keyof T]?: T[Name] } = {};
  for (const name in fields) if (fields[name] !== undefined) present[name] = fields[name];
  return present as Present<T>;
}
