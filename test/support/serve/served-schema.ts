/** What the vaults of served projects store. */
import { column, defineSchema, mask } from '../../../src/index.ts'

export const schema = defineSchema({
  customers: {
    name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
    email: column.string({ unique: true, redaction: 'PLAIN_TEXT', token: 'random' }),
  },
})
