"""Plans: models, precision and parallelism to memory, arithmetic and time. No torch."""
