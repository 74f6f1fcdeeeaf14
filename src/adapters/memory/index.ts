/** Door "strongroom/memory": storage that lives and dies with the process. */

export { memoryStorage } from './memory-storage.ts'
