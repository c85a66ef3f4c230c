/** A value that canonical JSON can write. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The content of a record: any JSON object. */
export type RecordBody = { readonly [key: string]: Json };
