/** The parts of random requests to a handler. */
import type { Route } from '../../../src/http/router/route.ts'

/** What random requests are made of. */
export interface HttpVocabulary {
  readonly routes: readonly Route[]
  readonly vaultIDs: readonly string[]
  readonly tables: readonly string[]
  readonly ids: readonly string[]
  readonly tokens: readonly string[]
  /** Texts after "Bearer ". */
  readonly credentials: readonly string[]
  /** A value that no error may repeat. It is not shaped like a name. */
  readonly canary: string
}
