from olu.cli.main import main

main()
