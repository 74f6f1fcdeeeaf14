/** Deterministic tokens: the digest of the value as a version 8 UUID. Equal values of one scope have one token. */
import { parse, stringify, validate, version } from 'uuid'
import type { TokenKind } from './token-kind.ts'

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
  recover: (_from, texts) =>
    texts.map((text) => {
      const isOurs = text.length === 36 && text === text.toLowerCase() && validate(text) && version(text) === 8
      return isOurs ? { kind: 'digest', digest: parse(text) } : undefined
    }),
}
