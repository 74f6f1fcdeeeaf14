/** Seeded bytes and numbers for the tests of the keys: the seeded random of all tests. */
export { type SeededRandom as SeededBytes, seededRandom as seededBytes } from '../../support/random/seeded-random.ts'
