from tests.es_node.node import main

main()
