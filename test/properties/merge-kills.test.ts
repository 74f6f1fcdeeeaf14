/** The law of kills amid merges. */
import { mergeKills } from '../laws/merge-kills.ts'
import { itHolds } from '../support/laws/it-holds.ts'

itHolds(mergeKills)
