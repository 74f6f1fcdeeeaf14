/** The conformance suite of key providers: every clause of the key port as a list of named cases. */
import { outageCases } from './cases/outage-cases.ts'
import { rotationCases } from './cases/rotation-cases.ts'
import { wrapCases } from './cases/wrap-cases.ts'
import type { KeyProviderCase } from './key-case.ts'

/** Every case. Those whose `needs` the control has not are left out. Source: docs/how-to/key-provider.md explains the letters. */
export const keyProviderCases: readonly KeyProviderCase[] = [...wrapCases, ...rotationCases, ...outageCases]
