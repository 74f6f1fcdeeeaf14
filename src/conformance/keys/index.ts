/** Entry point "strongroom/key-conformance": the conformance suite of key providers, for any test runner. */

export type { KeyProviderCase, KeyServiceControl, KeyServiceFault, KeysUnderTest } from './key-case.ts'
export { keyProviderCases } from './key-provider-cases.ts'
