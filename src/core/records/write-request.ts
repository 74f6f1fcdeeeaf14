/** Records on their way into storage, as all the stores are handed them. */
import type { TokenTexts } from '../barrier/marks.ts'
import type { Values } from '../barrier/parse-record.ts'

/** Records to write: values, the tokens they bring, and how an error names each of them. */
export interface Writing {
  readonly records: readonly Values[]
  readonly brought: TokenTexts
  readonly verb: string
  /** Position in the request of each record. */
  readonly indexes: readonly number[]
}
