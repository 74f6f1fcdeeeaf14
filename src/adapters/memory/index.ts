/** Entry point "strongroom/memory": storage in the memory of the process. */

export { memoryStorage } from './memory-storage.ts'
