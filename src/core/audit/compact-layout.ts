/** The layout of the compact form of an event. */

/*
 * Layout, in the order of the canonical text: COMPACT 1 | flags 2 | account id | action 1 | change id | outset | request id | [session id] |
 * [subject] | trace id | [user email] | [credential] | message | [nested] | chain | [digest of the previous event 32] | sequence number |
 * resource type 1 | [rows] | [table] | [tables] | time 8 | [vault id]. Flags say which of the members in brackets exist.
 * Outset: flags 1 | code 2 | [content] | access type 1 | actor | actor type 1 | auth mode 1 | [bearer token context id] | [client trace id] |
 * ip address | jwt id | [key id] | [origin].
 * Words are their index in the lists of `event-shape.ts`, which only grow at their ends. Texts and numbers are those of `compact-text.ts`.
 */

/** The first byte. Canonical text begins with a brace. */
export const COMPACT = 1

/** Flags of an outset: the text exists. */
export const OUTSET_FLAGS = { content: 1, bearerTokenContextID: 2, clientTraceID: 4, keyID: 8, origin: 16 } as const
export const ALL_OUTSET_FLAGS = 31

/** Flags of an event: the member exists; for `vaultID`, it is not the account id; for `previous`, it is not empty. */
export const FLAGS = {
  sessionID: 1,
  subject: 2,
  userEmail: 4,
  credential: 8,
  nested: 16,
  previous: 32,
  rows: 64,
  table: 128,
  tables: 256,
  vaultID: 512,
} as const
export const ALL_FLAGS = 1023

/** Flags of a nested outcome: the member exists. */
export const NESTED_FLAGS = { content: 1, contentOf: 2, items: 4, rows: 8 } as const
export const ALL_NESTED_FLAGS = 15

/** True for bytes that begin as the compact form does. Other bytes are text, as older events are stored. */
export function isCompact(bytes: Uint8Array): boolean {
  return bytes[0] === COMPACT
}
