/** Every law, in the order in which the soak begins them: those with the smallest share of the time first, so that time they leave is used. */
import type { Law } from './law.ts'
import { noLeak } from './no-leak.ts'
import { nonInterference } from './non-interference.ts'

export const ALL_LAWS: readonly Law[] = [noLeak, nonInterference]
