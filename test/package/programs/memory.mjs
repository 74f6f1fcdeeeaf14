/** Uses a vault in memory. */
import { memoryStorage } from 'strongroom/memory'
import { useVault } from './use-vault.mjs'

await useVault(memoryStorage())
console.log('memory works')
