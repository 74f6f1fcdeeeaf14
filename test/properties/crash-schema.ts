/** The schema that crash.test.ts and the process it kills share. */
import { column, defineSchema } from '../../src/index.ts'

/** Records of one batch. */
export const BATCH = 5

export const crashSchema = defineSchema({
  things: {
    batch: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
    secret: column.string({ redaction: 'PLAIN_TEXT' }),
  },
})
