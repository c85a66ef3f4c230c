const UUID = /^[\da-f]{8}-[\da-f]{4}-([\da-f])[\da-f]{3}-[\da-f]{4}-[\da-f]{12}$/i;

/** Matches the hash of a content, an event or a commit of git. */
const HASH = /^(?:[\da-f]{40}|[\da-f]{64})$/;

/** Matches an id or a hash within a sentence, unless it is a part of a path or of a longer word. */
const WITHIN = /(?<![\w/.-])(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{40}(?:[\da-f]{24})?)(?![\w/-]|\.\w)/gi;

/**
 * Maps the version of a UUID to the length of its short form. A UUID v7 begins with the time, so all ids of one minute
 * have the same first 8 characters.
 */
const LENGTHS: Readonly<Record<string, number>> = { 7: 18 };

const USUAL = 8;

/**
 * Returns the beginning of an id, which every tool accepts in place of the id. Returns an id of another form, such as
 * `seq:12` or an agent's own name of a session, unchanged.
 */
export function shortId(id: string): string {
  const version = UUID.exec(id)?.[1];
  if (version === undefined) return HASH.test(id) ? id.slice(0, USUAL) : id;
  return id.slice(0, LENGTHS[version] ?? USUAL);
}

/** Returns a sentence with its ids shortened, as `shortId` does it. */
export function shortIds(text: string): string {
  return text.replaceAll(WITHIN, (id) => shortId(id));
}
