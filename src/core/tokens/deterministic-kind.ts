/** Deterministic tokens: the digest of the value as a version 8 UUID. Equal values of one scope have one token. */
import { parse, stringify } from 'uuid'
import type { TokenKind } from './token-kind.ts'

/** A UUID of version 8 as this library writes it. */
const TOKEN = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

export const deterministicKind: TokenKind = {
  name: 'deterministic',
  keeps: 'nothing',
  isDeterministic: true,
  expires: false,
  hasFormat: false,
  formatProblem: () => undefined,
  assertValue: () => {},
  // The stored digest already has the six fixed bits of a version 8 UUID: the token itself is looked up.
  derive: (_from, values) => values.map(({ digest }) => stringify(digest)),
  recover: (_from, texts) => texts.map((text) => (TOKEN.test(text) ? { kind: 'digest', digest: parse(text) } : undefined)),
}
